# SPDX-License-Identifier: Apache-2.0
"""Suspects that another suspect explains: registries of weak references, and objects that no root reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.verdict.outcome import Suspect

UNROOTED = "<no root"
# A registry of weak references explains nothing when something else grew by as many entries, give or take this share.
AS_MANY = 0.9
# One leaking entry (a thread, a request) brings some objects of native code or of the interpreter with it.
OBJECTS_AN_ENTRY = 8


def rank(found: Suspect) -> int:
    """What keeps things alive first, then registries that do not, and last what has no path."""
    return 2 if is_unrooted(found) else 1 if found.weak else 0


def is_unrooted(found: Suspect) -> bool:
    """Whether a suspect is objects that no root reaches."""
    return found.path.startswith(UNROOTED)


def is_explained(found: Suspect, others: list[Suspect]) -> bool:
    """Whether a leak with a path of its own explains a suspect that is no cause."""
    leaks = [one for one in others if one.outcome is Outcome.LEAK and rank(one) < rank(found)]
    if is_unrooted(found):
        return any(_covers(one, found, 1 / OBJECTS_AN_ENTRY) for one in leaks)
    return bool(found.weak) and any(_covers(one, found, AS_MANY) for one in leaks)


def _covers(leak: Suspect, found: Suspect, share: float) -> bool:
    """Whether a leak grew by a share of what a suspect grew by, in the last rounds that both have."""
    rounds = min(len(leak.growth), len(found.growth))
    pairs = zip(leak.growth[-rounds:], found.growth[-rounds:], strict=True) if rounds else ()
    return sum(max(theirs, 0) for _, theirs in pairs) * share <= sum(leak.growth[-rounds:] if rounds else ())
