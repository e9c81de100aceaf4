# SPDX-License-Identifier: Apache-2.0
"""Containers that keep step with one which may be on its way to a limit: a cache's index, its counters, its order.

They belong to the same object and grew by the same number in every round, so what is said of the one holds for all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vllm_soak.verdict.limited import MAY_BE_BOUNDED
from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.verdict.finding import Finding
    from vllm_soak.verdict.outcome import Suspect
    from vllm_soak.verdict.series import Series


def beside_limited(judged: list[tuple[Suspect, Finding, Series]]) -> list[tuple[Suspect, Finding, Series]]:
    """Return the same, with what keeps step with a container that may be bounded as open as that one."""
    limited = [(found, finding) for found, finding, _ in judged if finding.rule == MAY_BE_BOUNDED]
    return [_beside(one, limited) for one in judged]


def _beside(
    one: tuple[Suspect, Finding, Series], limited: list[tuple[Suspect, Finding]]
) -> tuple[Suspect, Finding, Series]:
    found, finding, series = one
    if finding.outcome is not Outcome.LEAK:
        return one
    other = next(((there, why) for there, why in limited if _keeps_step(found, there)), None)
    if other is None:
        return one
    leader, why = other
    reason = f"{finding.reason}; keeps step with {leader.path}, which may be on its way to a limit"
    left_open = replace(why, reason=reason)
    return replace(found, outcome=why.outcome, rule=why.rule, reason=reason), left_open, series


def _keeps_step(found: Suspect, other: Suspect) -> bool:
    return _owner(found.path) == _owner(other.path) and found.growth == other.growth


def _owner(path: str) -> str:
    """What a path's last attribute belongs to; the path itself where it ends otherwise."""
    owner, _, name = path.rpartition(".")
    return owner if name and "[" not in name else path
