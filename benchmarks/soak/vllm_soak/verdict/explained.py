# SPDX-License-Identifier: Apache-2.0
"""Suspects that something else explains: registries of weak references or of threads, objects that no root reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.verdict.outcome import Suspect

UNROOTED = "<no root"
KNOWN_BOUND = "known-bound"
# A registry of weak references explains nothing when something else grew by as many entries, give or take this share.
AS_MANY = 0.9
# What `abc` remembers of classes that were asked about. Every class is reached through the one that it derives from, so
# that classes which pile up are seen by themselves: a memory that grows alone is one of classes that were there before.
OF_CLASSES = "a _abc_data "
# Where every thread that lives stands, a pool's workers as well.
OF_THREADS = ("threading._active", "threading._shutdown_locks", "threading._dangling.data")
WORKERS = "._threads"
# Types that containers are captured by.
CAPTURING = ("function", "cell", "method")
# One leaking entry (a thread, a request) brings some objects of native code or of the interpreter with it.
OBJECTS_AN_ENTRY = 8


def rank(found: Suspect) -> int:
    """What keeps things alive first, then registries that do not, and last what has no path."""
    return 2 if is_unrooted(found) else 1 if found.weak else 0


def is_unrooted(found: Suspect) -> bool:
    """Whether a suspect is objects that no root reaches."""
    return found.path.startswith(UNROOTED)


def is_explained(found: Suspect, others: list[Suspect]) -> bool:
    """Whether a leak with a path of its own, or a pool that fills, explains a suspect that is no cause."""
    if found.weak.startswith(OF_CLASSES) or _is_of_pools(found, others):
        return True
    if any(one.outcome is Outcome.LEAK and _is_above(found, one) for one in others):
        return True
    leaks = [one for one in others if one.outcome is Outcome.LEAK and rank(one) < rank(found)]
    if is_unrooted(found):
        return any(_covers(one, found, 1 / OBJECTS_AN_ENTRY) for one in leaks)
    return bool(found.weak) and any(_covers(one, found, AS_MANY) for one in leaks)


def _is_of_pools(found: Suspect, others: list[Suspect]) -> bool:
    """Whether a registry of threads grew by the workers of pools that have a limit and have not passed it."""
    pools = [one for one in others if one.rule == KNOWN_BOUND and one.template.endswith(WORKERS)]
    if found.path not in OF_THREADS or not pools:
        return False
    rounds = min(len(one.growth) for one in (found, *pools))
    started = sum(sum(one.growth[-rounds:]) for one in pools)
    return sum(found.growth[-rounds:]) * AS_MANY <= started


def _is_above(found: Suspect, leak: Suspect) -> bool:
    """Whether functions of a population came with the entries of a leak further down, as many with each.

    Objects of one type in a chain are one group, named by the way to the first: functions that entries bring along are
    in the group of the function which the container is captured by.
    """
    if found.type not in CAPTURING:
        return False
    if not leak.path.startswith((f"{found.path}.", f"{found.path}[")) or len(found.growth) != len(leak.growth):
        return False
    each = {theirs / ours if ours > 0 else 0.0 for theirs, ours in zip(found.growth, leak.growth, strict=True)}
    return len(each) == 1 and min(each) >= 1


def _covers(leak: Suspect, found: Suspect, share: float) -> bool:
    """Whether a leak grew by a share of what a suspect grew by, in the last rounds that both have."""
    rounds = min(len(leak.growth), len(found.growth))
    pairs = zip(leak.growth[-rounds:], found.growth[-rounds:], strict=True) if rounds else ()
    return sum(max(theirs, 0) for _, theirs in pairs) * share <= sum(leak.growth[-rounds:] if rounds else ())
