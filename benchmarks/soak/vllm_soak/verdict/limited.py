# SPDX-License-Identifier: Apache-2.0
"""A leak that may be a cache on its way to a limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vllm_soak.verdict.finding import Finding
from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.verdict.lengths import Growth

MAY_BE_BOUNDED = "may-be-bounded"


def unless_limited(growth: Growth, finding: Finding) -> Finding:
    """Keep back from calling a leak what may be a cache on its way to a limit: a leak passes that in the end."""
    if finding.outcome is not Outcome.LEAK:
        return finding
    return _below_a_number(growth, finding) or _before_an_age(growth, finding) or finding


def _below_a_number(growth: Growth, finding: Finding) -> Finding | None:
    length, limit = growth.series.values[-1], growth.limit
    if limit is None or length > limit:
        return None
    left = math.ceil((limit - length + 1) * growth.series.work / growth.series.total)
    return Finding(
        Outcome.INCONCLUSIVE,
        MAY_BE_BOUNDED,
        f"{finding.reason}; holds {length:,.0f} entries, and {growth.limit_name}={limit:,} may be its limit",
        f"run on until it stops or passes {limit:,} entries: some {left:,} more requests (--num-prompts, --max-rounds)",
    )


def _before_an_age(growth: Growth, finding: Finding) -> Finding | None:
    if growth.age is None or growth.seconds > growth.age:
        return None
    return Finding(
        Outcome.INCONCLUSIVE,
        MAY_BE_BOUNDED,
        f"{finding.reason}; {growth.age_name}={growth.age:,g} may be the age in seconds at which its entries are "
        f"dropped, and the rounds before the last took {growth.seconds:,.0f}",
        f"run for well over {growth.age:,g} seconds (--duration)",
    )
