# SPDX-License-Identifier: Apache-2.0
"""Rules for one container: is its growth over the measured rounds a leak?

Each rule looks at the lengths alone and answers with a finding or with None ("not mine"); the first
that answers decides. A container that no rule claims is no suspect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.verdict.finding import Finding
from vllm_soak.verdict.late import LateRun, late_run
from vllm_soak.verdict.lengths import Growth
from vllm_soak.verdict.limited import unless_limited
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.pace import Pace, pace
from vllm_soak.verdict.waves import climbs, risen

if TYPE_CHECKING:
    from vllm_soak.verdict.series import Series

FEWEST_ROUNDS = 3
# Growth below this many entries over all measured rounds is within what a handful of one-off
# events (a lazy import, a new batch shape, a log line) adds. It is a count, not a rate: one
# entry per 1,000 requests passes it after 10,000 requests.
FEWEST_ENTRIES = 10
# A container that has met its bound to nine tenths, and gained less than a twentieth of it, is full.
FULL_SHARE, MOVING_SHARE = 0.9, 0.05
# One that lost more than this share of what it gained comes and goes; less is the end of a fill.
FALL_SHARE = 0.1
# A container that is not steady holds the answer up only while it still adds this much: half of
# one entry per 1,000 requests, the slowest leak that a long run must see.
ENTRIES_PER_REQUEST_THAT_MATTER = 0.5e-3
# Rounds, of all measured ones, that must have grown for gaps to be an open question.
MOST_ROUNDS = 2 / 3
# Rounds since growth began, the one that it began in left out, before it may be called a leak: as many
# as a run has by default, so that what fills late gets the time that what fills early has.
FEWEST_LATE_ROUNDS = 5
# Rounds with the same number of entries a request, before that is taken for exact.
FEWEST_EXACT_ROUNDS = 5


def judge_growth(growth: Growth) -> Finding | None:
    """Return the first rule's finding, or None when the container is no suspect."""
    if is_small(growth):
        return in_waves(growth)
    for rule in (known_bound, stopped, too_few_rounds, fell, late, gaps, steady, immaterial, slowing):
        finding = rule(growth)
        if finding is not None:
            return None if finding is NO_SUSPECT else unless_limited(growth, finding)
    return uneven(growth)


def is_small(growth: Growth) -> bool:
    """Whether growth is too small to mean anything."""
    return growth.series.total < FEWEST_ENTRIES


def known_bound(growth: Growth) -> Finding | None:
    """A cache with a limit that it has not passed is filling, not leaking; one that is full only comes and goes."""
    length = growth.series.values[-1]
    if growth.bound is None or length > growth.bound:
        return None
    if is_full(growth, growth.bound):
        return NO_SUSPECT
    why = f" ({growth.bound_reason})" if growth.bound_reason else ""
    return Finding(Outcome.BOUNDED, "known-bound", f"holds {length:,.0f} of at most {growth.bound:,} entries{why}")


def is_full(growth: Growth, bound: int) -> bool:
    """Whether entries only come and go below a bound."""
    series = growth.series
    if series.values[-1] >= FULL_SHARE * bound and series.total < MOVING_SHARE * bound:
        return True
    rises = sum(step for step in growth.steps if step > 0)
    return rises - series.total > FALL_SHARE * rises and (risen(series) < FEWEST_ENTRIES or not climbs(series))


def stopped(growth: Growth) -> Finding | None:
    """What grew and then stopped has met its limit."""
    lead, flat = _flat_tail(growth.steps[::-1]), _flat_tail(growth.steps)
    grown = growth.steps[lead : len(growth.steps) - flat]
    # A single late jump is an event, not a fill.
    if not flat or any(step <= 0 for step in grown) or (lead and len(grown) == 1):
        return None
    return Finding(Outcome.BOUNDED, "stopped", f"grew, then stopped for the last {_count(flat, 'round')}")


def too_few_rounds(growth: Growth) -> Finding | None:
    """Two rounds are no trend."""
    if growth.rounds >= FEWEST_ROUNDS or growth.grew < growth.rounds:
        return None
    return Finding(
        Outcome.INCONCLUSIVE,
        "too-few-rounds",
        f"grew in every round, but only {_count(growth.rounds, 'round')} can be compared",
        f"run at least {FEWEST_ROUNDS + 1} measured rounds (--rounds)",
    )


def fell(growth: Growth) -> Finding | None:
    """What shrinks in between is emptied by someone: no suspect, unless its lowest levels climb."""
    return in_waves(growth) or NO_SUSPECT if _has_fallen(growth) else None


def in_waves(growth: Growth) -> Finding | None:
    """What shrinks in between, and climbs all the same, is an open question."""
    series, bound = growth.series, growth.bound
    if not _has_fallen(growth) or (bound is not None and series.values[-1] <= bound):
        return None
    if risen(series) < FEWEST_ENTRIES or not climbs(series):
        return None
    return Finding(
        Outcome.INCONCLUSIVE,
        "rises-in-waves",
        f"shrank in some of {_count(growth.rounds, 'round')}, but the later ones lie {risen(series):,.0f} entries "
        "above the earlier ones: something comes and goes there, and a leak may hide beneath it",
        "let the work come to rest after each round, or use larger or more rounds (--num-prompts, --max-rounds)",
    )


def late(growth: Growth) -> Finding | None:
    """Grew in the last rounds without a gap, at a pace that holds, but not from the first: a leak may begin late."""
    run = late_run(growth.series, growth.first_round, began_before=growth.idle > 0)
    small = run is None or run.rounds < FEWEST_ROUNDS or run.total < FEWEST_ENTRIES
    if run is None or small or not _matters(growth) or not run.holds:
        return None
    found = pace(run.full, quantum=1)
    if found is not None and found.steady and len(run.full.growth) >= FEWEST_LATE_ROUNDS:
        return Finding(Outcome.LEAK, "late-growth", f"{_late_text(run)}; {_pace_text(found)}")
    return Finding(
        Outcome.INCONCLUSIVE,
        "late-growth",
        f"{_late_text(run)}, too short a time to tell a leak from a fill",
        f"run more rounds (--rounds, --max-rounds), so that {FEWEST_LATE_ROUNDS} or more follow the one it began in",
    )


def gaps(growth: Growth) -> Finding | None:
    """A round without growth clears a container, unless nearly all others grew."""
    grew = growth.grew
    if grew == growth.rounds:
        return None
    if grew < MOST_ROUNDS * growth.rounds or growth.rounds < FEWEST_ROUNDS or not _matters(growth):
        return NO_SUSPECT
    return Finding(
        Outcome.INCONCLUSIVE,
        "gaps",
        f"grew in {grew} of {growth.rounds} rounds and never shrank",
        "use larger rounds (--num-prompts), so that every round shows growth or none does",
    )


def steady(growth: Growth) -> Finding | None:
    """Grew in every round, in proportion to the work, and did not slow down: a leak."""
    found = pace(growth.series, quantum=0 if is_exact(growth.series) else 1)
    if found is None or not found.steady:
        return None
    return Finding(
        Outcome.LEAK,
        "steady-growth",
        f"grew in each of {growth.rounds} rounds by {_range(growth.steps)} entries; {_pace_text(found)}",
    )


def is_exact(series: Series) -> bool:
    """Whether every request of every round left the same whole number of entries, so that nothing was rounded away.

    With few requests a round one entry more or less hides a slow-down. Growth that slows down has such rounds only as
    long as it still adds an entry with each request.
    """
    each = {step / span if span else 0.0 for step, span in zip(series.growth, series.spans, strict=True)}
    return len(series.growth) >= FEWEST_EXACT_ROUNDS and len(each) == 1 and min(each) >= 1 and min(each).is_integer()


def immaterial(growth: Growth) -> Finding | None:
    """Unsteady growth that has all but ended does not hold the answer up."""
    return None if _matters(growth) else NO_SUSPECT


def slowing(growth: Growth) -> Finding | None:
    """Growing ever slower is what caches do: not a leak, and not yet shown to end."""
    found = pace(growth.series, quantum=1)
    if found is None or found.ratio >= found.line:
        return None
    return Finding(
        Outcome.INCONCLUSIVE,
        "slowing",
        f"grows, but ever more slowly: {_pace_text(found)}",
        "run more rounds (--max-rounds, --max-requests) until it stops or keeps its pace",
    )


def uneven(growth: Growth) -> Finding:
    """Grew in every round, but too little or too unevenly to tell a leak from a cache."""
    return Finding(
        Outcome.INCONCLUSIVE,
        "uneven-growth",
        f"grew in each of {growth.rounds} rounds by {_range(growth.steps)} entries, too few or too uneven to tell",
        "run more rounds (--max-rounds, --max-requests) or larger ones (--num-prompts)",
    )


# What a rule answers that clears a container for good; compared by identity, never shown.
NO_SUSPECT = Finding(Outcome.NO_LEAK, "no-suspect", "")


def _has_fallen(growth: Growth) -> bool:
    return any(step < 0 for step in growth.steps)


def _matters(growth: Growth) -> bool:
    """Whether the later half of the rounds still adds entries at a rate that matters."""
    late = len(growth.steps) // 2
    added, work = sum(growth.steps[late:]), sum(growth.series.spans[late:])
    return added > ENTRIES_PER_REQUEST_THAT_MATTER * work


def _late_text(run: LateRun) -> str:
    steps = _range(run.full.growth)
    since = f"in each of {run.rounds} rounds since measured round {run.since}, not in the one before"
    return f"grew {since}, by {steps} entries after the first"


def _flat_tail(steps: list[float]) -> int:
    flat = 0
    for step in reversed(steps):
        if step != 0:
            break
        flat += 1
    return flat


def _pace_text(found: Pace) -> str:
    return (
        f"growth per request ended at {found.ratio:.2f} of where it began "
        f"(at least {found.low:.2f}; steady above {found.line:.2f})"
    )


def _range(steps: list[float]) -> str:
    low, high = min(steps), max(steps)
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
