# SPDX-License-Identifier: Apache-2.0
"""What an engine on mlx holds at rest beyond what its prefix cache counts: its limit does not see that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vllm_soak.verdict.reconcile import measured_samples

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm

ACTIVE, COUNTED = "mlx_active", "prefix_bytes"
# Less is not worth a word: an idle engine itself keeps some KB more than before the load ...
FLOOR_BYTES = 64 << 10
# ... and buffers are a little larger than what entries show of them.
FLOOR_SHARE = 0.1


class Uncounted(NamedTuple):
    """Bytes at rest after the last measured round.

    Args:
        counted: What the prefix cache says that it holds.
        held: What mlx has in use over the engine before the load.
    """

    counted: float
    held: float


def uncounted(arm: Arm, process: str) -> Uncounted | None:
    """What a prefix cache does not count after the last measured round, when there was as much after each of them.

    None where nothing of the kind was measured. Says nothing of who holds it: with views the memory of a whole buffer
    stays for a part of it, and what another leak keeps is in `held` as well.
    """
    idle = _idle(arm)
    if idle is None:
        return None
    found = [
        Uncounted(one.values[COUNTED], one.values[ACTIVE] - idle)
        for one in measured_samples(arm, process)
        if one.values.get(COUNTED, 0.0) > 0 and ACTIVE in one.values
    ]
    return found[-1] if found and all(map(_is_worth_a_word, found)) else None


def _idle(arm: Arm) -> float | None:
    turns = arm.engine.get("turns")
    first = turns[0] if isinstance(turns, list) and turns else None
    active = first.get(ACTIVE) if isinstance(first, dict) else None
    return active if isinstance(active, float) else None


def _is_worth_a_word(one: Uncounted) -> bool:
    return one.held - one.counted > max(FLOOR_BYTES, FLOOR_SHARE * one.counted)
