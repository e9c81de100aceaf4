# SPDX-License-Identifier: Apache-2.0
"""Bytes that still grow, but less than they did in warm-up: an open question that has a name.

Native code often keeps something for each new shape of a batch. It takes less and less the longer the work goes on,
and nothing that Python can be asked tells where that ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.store.record import WARM_UP
from vllm_soak.verdict.finding import Finding
from vllm_soak.verdict.native import FLOOR_BYTES, SETTLED_SHARE, native_growth
from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm

RULE = "warming"
# What bytes answer when they may be growing.
OPEN_RULES = ("few-bytes", "slowing-bytes")


def named_question(arm: Arm, process: str, found: Finding) -> Finding:
    """Return an open question about bytes by its name where the process is still warming up, else as it is."""
    if found.rule not in OPEN_RULES:
        return found
    warm_up = sum(one.phase == WARM_UP for one in arm.samples if one.process == process)
    growth = native_growth(arm, process)
    before, since = growth[: max(warm_up - 1, 0)], growth[max(warm_up - 1, 0) :]
    if not before or not since or max(before) < FLOOR_BYTES:
        return found
    mean = sum(since) / len(since)
    if mean >= SETTLED_SHARE * max(before):
        return found
    reason = (
        f"memory that no container explains is still growing, but less than in warm-up ({mean:,.0f} bytes a round "
        f"after {max(before):,.0f}): the process is warming up, as native code does that keeps something for each new "
        "shape of a batch"
    )
    settle = "larger rounds meet every shape sooner (--num-prompts); --max-rounds and --duration give it more time"
    return Finding(Outcome.INCONCLUSIVE, RULE, reason, settle)
