# SPDX-License-Identifier: Apache-2.0
"""What the scheduler of an engine's own server keeps, for the samples of its process."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from vllm_soak.engines.mlx.observe import observe
from vllm_soak.sampling.instances import instances
from vllm_soak.sampling.source import register

MODULE = "vllm_mlx.scheduler"
# The scheduler that was found last: looking for it goes through all objects.
_known: list[weakref.ref[Any]] = []


def watch() -> None:
    """Have every sample of this process tell the figures of the engine's scheduler, from when there is one."""
    register(figures)


def figures() -> dict[str, float]:
    """As of `observe`; empty while there is no scheduler."""
    scheduler = find_scheduler()
    return {} if scheduler is None else observe(scheduler, collect=False)


def find_scheduler() -> Any:
    """The scheduler of this process, or None; the first one where several models are served."""
    for known in _known:
        if (scheduler := known()) is not None:
            return scheduler
    kind = getattr(sys.modules.get(MODULE), "Scheduler", None)
    found = instances(kind) if isinstance(kind, type) else []
    _known[:] = [weakref.ref(one) for one in found[:1]]
    return found[0] if found else None
