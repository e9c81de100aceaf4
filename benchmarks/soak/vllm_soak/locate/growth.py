# SPDX-License-Identifier: Apache-2.0
"""What grows in this process while the same work is done again and again.

Measuring and judging need the standard library only.
"""

from __future__ import annotations

import os
import time
from types import CoroutineType
from typing import TYPE_CHECKING

from vllm_soak.errors import UsageError
from vllm_soak.heap.census import Census
from vllm_soak.locate.grown import BEFORE_AFTER, Grown
from vllm_soak.locate.journal import Journal
from vllm_soak.locate.wording import OF_CALLS
from vllm_soak.probe.role import role
from vllm_soak.sampling.sample import take_sample
from vllm_soak.store.record import MEASURED, Arm, Population
from vllm_soak.verdict.growth import FEWEST_ROUNDS
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict, Suspect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from typing_extensions import Self

SHOWN = 5  # things that grew, in a line
ONCE = "grew between two looks; whether it goes on growing takes repeated rounds (run() or round())"
UNKNOWN_YET = "nothing was compared yet: call round() after each piece of work, or run(work)"


class Growth:
    """Compares the heap after identical rounds of work.

    Args:
        warm_up: Rounds before the measured ones; the first is where comparing starts.

    Raises:
        UsageError: `warm_up` is below 1.
    """

    def __init__(self, *, warm_up: int = 2) -> None:
        if warm_up < 1:
            raise UsageError(f"warm_up={warm_up} leaves no round to compare with", "use 1 or more")
        self._warm_up = warm_up
        self._journal = Journal(role(), os.getpid())
        self._census = Census(hidden=(self, self.__dict__))
        self._since = time.monotonic()
        self._before_work = False

    def __enter__(self) -> Self:
        """Look at the heap before the work."""
        self._record(0, measured=False)
        self._before_work = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Look again, unless `round()` or `run()` did, or the work failed."""
        if kind is None and len(self.arm.rounds) == 1:
            self._record(1, measured=True)

    def round(self, work: int = 1) -> None:
        """Say that a round of work is done: settle, look at the heap, compare.

        Args:
            work: Pieces of work in the round, so that rounds of unequal size can be compared.
        """
        self._record(work, measured=len(self.arm.rounds) - self._before_work >= self._warm_up)

    def rounds(self, count: int = 5) -> Iterator[int]:
        """Iterate over warm-up and `count` measured rounds: `for _ in g.rounds(): work()`."""
        for index in range(self._warm_up + count):
            yield index
            self.round()

    def run(self, work: Callable[[], object], *, rounds: int = 5, repeat: int = 10, max_rounds: int = 15) -> Self:
        """Do the work again and again, in rounds of `repeat` calls, until it is clear what grows.

        Args:
            work: One piece of work, always the same.
            rounds: Measured rounds, after the warm-up; a leak takes at least 3.
            repeat: Calls of `work` in a round. A leak takes 10 entries over all measured rounds.
            max_rounds: Measured rounds at most, when it is not clear after `rounds`.

        Raises:
            UsageError: `rounds` is too small for a verdict, or `work` returned an awaitable, which nobody awaits.
        """
        _check_rounds(rounds)
        done = 0
        while done < rounds + self._warm_up or (done < max_rounds + self._warm_up and self._is_open()):
            for _ in range(repeat):
                _check_done(work())
            self.round(repeat)
            done += 1
        return self

    @property
    def arm(self) -> Arm:
        """What was measured, as a run's store would hold it."""
        return self._journal.arm

    @property
    def verdict(self) -> ProcessVerdict:
        """What the rules of `docs/verdict.md` say of this process, bytes included."""
        return OF_CALLS.of(self._journal.verdict())

    @property
    def suspects(self) -> list[Grown]:
        """What grew: leaks first. After a single look before and after: all that is longer, none called a leak."""
        measured = self._measured()
        if len(measured) <= 1:
            return self._once()
        per_round = sum(measured) / len(measured)
        return [Grown(one, "round", per_round) for one in self.verdict.suspects]

    @property
    def leaks(self) -> list[Grown]:
        """The suspects that are called a leak: `assert not g.leaks`.

        Raises:
            UsageError: There were too few rounds for any to be called so, and an empty list would say nothing.
        """
        _check_rounds(len(self._measured()))
        return [one for one in self.suspects if one.outcome is Outcome.LEAK]

    def __repr__(self) -> str:
        """One line, as pytest shows it under `assert not g.leaks, g`: what grew, leaks first."""
        if len(self.arm.rounds) <= 1:
            return f"<Growth: {UNKNOWN_YET}>"
        grown = self.suspects
        more = f", and {len(grown) - SHOWN} more" if len(grown) > SHOWN else ""
        return f"<Growth: {', '.join(map(repr, grown[:SHOWN])) or 'nothing grew'}{more}>"

    def __str__(self) -> str:
        """The ladders of all suspects."""
        if len(self.arm.rounds) <= 1:
            return UNKNOWN_YET
        return "\n\n".join(map(str, self.suspects)) or "nothing grew"

    def _record(self, work: int, *, measured: bool) -> None:
        seconds = time.monotonic() - self._since
        sample = take_sample(settled=True)
        values = self._without_own(sample["values"])
        answer = self._census.take(baseline=not self.arm.rounds)
        self._journal.add(
            answer,
            work=work,
            seconds=seconds,
            measured=measured,
            values=values,
            garbage=sample["garbage"],
        )
        self._since = time.monotonic()

    def _without_own(self, values: dict[str, float]) -> dict[str, float]:
        """What was measured less what measuring keeps in this process, which grows with every container it names."""
        return {**values, "in_use": values["in_use"] - self._journal.own_bytes} if "in_use" in values else values

    def _measured(self) -> list[int]:
        """Pieces of work of each measured round."""
        return [one.requests for one in self.arm.rounds if one.phase == MEASURED]

    def _is_open(self) -> bool:
        """Whether a container may or may not leak, and more rounds would tell."""
        return any(one.outcome is Outcome.INCONCLUSIVE for one in self.suspects)

    def _once(self) -> list[Grown]:
        grown = self._journal.grown
        rows = [row for row in self._journal.last_rows() if grown.get(row.path, 1) > 0]
        rows.sort(key=lambda row: -grown.get(row.path, 0))
        return [Grown(_seen_once(row, grown.get(row.path))) for row in rows]


def _check_done(result: object) -> None:
    """Refuse what a coroutine function returns: nothing of its work was done."""
    if not hasattr(type(result), "__await__"):  # asking `Awaitable` would grow what `abc` remembers
        return
    if isinstance(result, CoroutineType):
        result.close()
    cause = f"work() returned a {type(result).__name__} that was not awaited, so its work was not done"
    remedy = (
        "give a plain function, such as lambda: asyncio.run(work()), or await it yourself and call round() after it"
    )
    raise UsageError(cause, remedy)


def _check_rounds(count: int) -> None:
    if count < FEWEST_ROUNDS:
        cause = f"a verdict takes {FEWEST_ROUNDS} measured rounds, and there are {count}"
        raise UsageError(cause, "use run(work), or call round() after each of more rounds; suspects lists what grew")


def _seen_once(row: Population, grown: int | None) -> Suspect:
    """A container that is longer than it was, with nothing said of why."""
    own = row.shallow_bytes / row.length if row.length else 0.0
    each, growth = own + (row.exclusive_per_entry or 0.0), grown or 0
    return Suspect(
        process=row.process,
        path=row.path,
        template=row.template,
        fingerprint=row.fingerprint,
        type=row.type,
        steps=row.steps,
        length_first=row.length - growth,
        length_last=row.length,
        growth=[] if grown is None else [grown],
        requests=[1],
        per_request=float(growth),
        bytes_per_entry=each,
        bytes_per_request=each * growth,
        outcome=Outcome.INCONCLUSIVE,
        rule=BEFORE_AFTER,
        reason=ONCE,
        bound=row.bound,
        bytes_at_least=row.exclusive_per_entry is None,
        weak=row.weak,
        samples=row.samples,
    )
