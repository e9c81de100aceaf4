# SPDX-License-Identifier: Apache-2.0
"""What a run could not see, said with every verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.verdict.growth import FEWEST_ENTRIES, FEWEST_ROUNDS

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm

# The census walks chains and names them by their way from a root; these it does not reach, or cannot name.
UNNAMED = (
    "objects that only native code or `atexit` holds are counted by type, without a path",
    "memory that native code keeps without a Python object is seen as bytes only, never by name",
)
PYTHON_WALK = "the walk in Python sees containers only: chains of objects and buffers that are replaced grow unseen"
ALWAYS = (
    *UNNAMED,
    f"a container that gains fewer than {FEWEST_ENTRIES} entries over the whole run is not looked at",
    f"a leak that begins in the last {FEWEST_ROUNDS - 1} measured rounds looks like a single event, and is not told",
    "a container that is emptied, but less often than once in this run, looks like a leak",
    "a cache without a known bound, or a limit in its code, that fills for longer than this run looks like a leak",
)


def blind_spots(arm: Arm, process: str) -> list[str]:
    """Return what this run could not see of a process, what is always so last."""
    return [
        *_unwalked(arm, process),
        *_in_python(arm, process),
        *_partial(arm, process),
        *_unmeasured(arm, process),
        *ALWAYS,
    ]


def _unwalked(arm: Arm, process: str) -> list[str]:
    walked = any(c.process == process for c in arm.censuses)
    return [] if walked else ["no census was taken in this process, so its containers are unknown"]


def _in_python(arm: Arm, process: str) -> list[str]:
    slow = any(c.process == process and c.walker.startswith("python") for c in arm.censuses)
    return [PYTHON_WALK] if slow else []


def _partial(arm: Arm, process: str) -> list[str]:
    reasons = dict.fromkeys(c.partial for c in arm.censuses if c.process == process and c.partial)
    return [f"the census was partial: {reason}" for reason in reasons]


def _unmeasured(arm: Arm, process: str) -> list[str]:
    measured = any("in_use" in s.values for s in arm.samples if s.process == process)
    return [] if measured else ["bytes in use were not measured in this process"]
