# SPDX-License-Identifier: Apache-2.0
"""Bring the process to rest before it is measured, and say what each step gave back."""

from __future__ import annotations

from typing import Any, NamedTuple

from vllm_soak.heap.cycles import Collector
from vllm_soak.sampling.malloc import malloc, trim
from vllm_soak.sampling.memory import in_use

_COLLECTOR = Collector()


class Settled(NamedTuple):
    """What settling measured.

    Args:
        values: Named numbers as in `store.record.Sample`.
        garbage: Rings of objects that were collected, as there.
    """

    values: dict[str, float]
    garbage: list[dict[str, Any]]


def settle() -> Settled:
    """Collect garbage, then return free memory to the system.

    Frozen objects stay frozen: unfreezing and freezing again would also freeze what lives only now.

    Returns:
        The rings of objects that were collected, and as values `gc_freed`, the bytes by which memory in use
        or glibc's count of bytes handed out fell in the collection, whichever is more; `trim_returned`, the
        bytes by which memory in use fell in the trim (neither is below 0: an engine that is not idle may grow
        meanwhile); `gc_objects`, the unreachable objects found; and `in_use` afterwards. What cannot be measured
        here is absent.
    """
    before, held = in_use(), malloc().get("allocated", 0.0)
    found = _COLLECTOR.collect()
    values = {"gc_objects": float(found.objects)}
    collected, kept = in_use(), malloc().get("allocated", 0.0)
    trimmed = trim()
    after = in_use()
    if before is None or collected is None or after is None:
        return Settled(values, found.rings)
    # What a collection frees goes back to the allocator, and from there to the system only when trimmed.
    values |= {"gc_freed": max(0.0, before - collected, held - kept), "in_use": after}
    if trimmed:
        values["trim_returned"] = max(0.0, collected - after)
    return Settled(values, found.rings)
