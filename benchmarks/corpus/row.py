# SPDX-License-Identifier: Apache-2.0
"""What was said of a case, beside what must be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from corpus.case import Case, Expected
from vllm_soak.verdict.outcome import ArmVerdict, Cycle, Outcome, RunVerdict, Suspect


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Args:
        outcome: The run's.
        path: Path template of the expected container of the outcome, else of its first, or the ring of objects that
            was freed; empty where nothing was named.
        per_request: Its entries a request.
        matched: Whether the paths and words are those that are expected; None where none are.
        right: Whether the outcome is right, the paths match, and a request leaves what it must.
    """

    case: str
    release: str
    expected: str
    outcome: str
    path: str
    per_request: float | None
    matched: bool | None
    right: bool
    reason: str
    requests: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, object]:
        """The row as plain values."""
        return asdict(self)


def row_of(
    case: Case, verdict: RunVerdict, requests: int = 0, seconds: float = 0.0, sentences: Sequence[str] = ()
) -> Row:
    """Judge a run's verdict, and the sentences of its report, against a case's expectation."""
    path, per_request = named(verdict, case.expected)
    matched = matches(verdict, case.expected)
    if case.expected.says or case.expected.unsaid:
        matched = matched is not False and words_match(case.expected, sentences)
    exact = case.per_request is None or (per_request is not None and round(per_request, 2) == case.per_request)
    return Row(
        case=case.name,
        release=case.engine,
        expected=in_words(case),
        outcome=verdict.outcome.value,
        path=path,
        per_request=None if per_request is None else round(per_request, 4),
        matched=matched,
        right=verdict.outcome in case.expected.outcomes and matched is not False and exact,
        reason=verdict.reason,
        requests=requests,
        seconds=round(seconds, 1),
    )


def failed_row(case: Case, reason: str, seconds: float) -> Row:
    """The row of a case that could not be run."""
    return Row(case.name, case.engine, in_words(case), "failed", "", None, None, False, reason, 0, round(seconds, 1))


def in_words(case: Case) -> str:
    """The outcomes that are right."""
    return " or ".join(one.value for one in case.expected.outcomes)


def named(verdict: RunVerdict, expected: Expected) -> tuple[str, float | None]:
    """What the outcome is of, and how many a request: a container, else a ring of objects that collections freed."""
    ends = (*expected.leaks, *expected.at_most_bounded) or ("\0",)
    found = [one for one in all_suspects(verdict.arms) if one.outcome is verdict.outcome]
    first = next((one for one in found if one.template.endswith(ends)), found[0] if found else None)
    if first is not None:
        return first.template, first.per_request
    rings = all_rings(verdict.arms) if verdict.outcome is Outcome.GC_DEFERRED else []
    ring = next((one for one in rings if expected.ring in one.ring), None)
    return (ring.ring, ring.per_request) if ring else ("", None)


def all_suspects(arms: list[ArmVerdict]) -> list[Suspect]:
    """Every container that was named, process by process, leaks first."""
    return [suspect for arm in arms for process in arm.processes for suspect in process.suspects]


def all_rings(arms: list[ArmVerdict]) -> list[Cycle]:
    """Every ring of objects that collections freed, process by process."""
    return [ring for arm in arms for process in arm.processes for ring in process.cycles]


def matches(verdict: RunVerdict, expected: Expected) -> bool | None:
    """Whether what was named is what is expected; None where nothing is, and no leak was named either."""
    paths = paths_match(expected, all_suspects(verdict.arms))
    if not expected.ring:
        return paths
    return paths is not False and any(expected.ring in one.ring for one in all_rings(verdict.arms))


def words_match(expected: Expected, sentences: Sequence[str]) -> bool:
    """Whether a report says what it must, and not what it may not."""
    said = not expected.says or any(expected.says in one for one in sentences)
    return said and not (expected.unsaid and any(expected.unsaid in one for one in sentences))


def paths_match(expected: Expected, suspects: list[Suspect]) -> bool | None:
    """Whether exactly the expected containers are called a leak, and what is bounded is called so or not named.

    Where `bounded` is the only right outcome, what is bounded must be named.
    """
    leaks = [one.template for one in suspects if one.outcome is Outcome.LEAK]
    found = [suffix for suffix in expected.leaks if any(path.endswith(suffix) for path in leaks)]
    stray = [path for path in leaks if not path.endswith(expected.leaks or ("\0",))]
    harmless = [one for one in suspects if one.template.endswith(expected.at_most_bounded or ("\0",))]
    if not expected.leaks and not expected.at_most_bounded:
        return False if stray else None
    bounded = all(one.outcome is Outcome.BOUNDED for one in harmless)
    if expected.outcomes == (Outcome.BOUNDED,) and not harmless:
        return False
    return len(found) == len(expected.leaks) and not stray and bounded
