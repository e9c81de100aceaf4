# SPDX-License-Identifier: Apache-2.0
"""Whether the machine changed at a step: a server that gets fewer cores is slower by no fault of its own."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vllm_soak.steps.crowd import Crowd
from vllm_soak.steps.series import slower
from vllm_soak.store.outside import LevelStep

KEPT_SECONDS = 600.0
# Of the time before a step, what is compared with the time after it.
BEFORE_SECONDS = 120.0
# Shares of the time before and after a step that differ by this much are told.
TELLING = 0.15
# Others account for a step when they use so many cores, and the server's main threads wait for a core (or any task of
# the machine does) so much more of the time; or when they use so much more of the machine, waiting or not: on the other
# thread of a core they slow the server without making it wait.
CORES, WAITING, SHARE = 0.25, 0.1, 0.15
# A quota, or another guest of the host, that takes so many cores or so much of the time needs no second sign.
TAKEN = 0.1
UNCHANGED = "it does not show in the seconds in which others were in the way as much as before"
# A reading that is older than this says nothing of a second of load.
FRESH_SECONDS = 3.0
PROCESSORS = os.cpu_count() or 1
OTHERS, WAIT, OWN = "others_cores", "main_wait", "cores"


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that is read of the machine or the server once a second.

    Args:
        words: What it is, with its means before and after.
        share: Whether it is told as a share of the time.
        counter: Whether it grows for ever, so that its differences count.
        unit: Factor that makes it seconds a second.
    """

    words: str
    share: bool = True
    counter: bool = True
    unit: float = 1.0

    def text(self, before: float, after: float) -> str:
        """Return its words."""
        return self.words.format(*(f"{one * 100:.0f} %" if self.share else f"{one:.2f}" for one in (before, after)))


SIGNS = {
    "others_cores": Sign("other programs used {0} cores before and {1} after", share=False, counter=False),
    "steal_cores": Sign("other guests of the host took {0} cores before and {1} after", share=False, counter=False),
    "main_wait": Sign("the server's main threads waited {0} s a second for a core before and {1} s after",
                      share=False, counter=False),
    "cores": Sign("the server used {0} cores before and {1} after", share=False, counter=False),
    "cpu_pressure_some": Sign("tasks waited for a core {0} of the time before and {1} after"),
    "memory_pressure_some": Sign("tasks waited for memory {0} of the time before and {1} after"),
    "io_pressure_some": Sign("tasks waited for a disk {0} of the time before and {1} after"),
    "cgroup_throttled_us": Sign("the control group was held back by its processor quota {0} of the time before and "
                                "{1} after", unit=1e-6),
}  # fmt: skip


class Surroundings:
    """The last minutes of the machine's readings."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, dict[str, float]]] = deque()

    def add(self, elapsed: float, values: Mapping[str, float]) -> None:
        """Take a reading of the machine, or of the server's tree."""
        self._rows.append((elapsed, {name: values[name] for name in SIGNS if name in values}))
        while self._rows[-1][0] - self._rows[0][0] > KEPT_SECONDS:
            self._rows.popleft()

    def crowd(self, elapsed: float) -> Crowd | None:
        """Return how much others were in the way by the last readings, None when that is not known or too old."""
        fresh = [values for at, values in list(self._rows)[-4:] if elapsed - at <= FRESH_SECONDS]
        last = {name: value for values in fresh for name, value in values.items()}
        return Crowd(last[WAIT], last.get(OTHERS, 0.0) / PROCESSORS) if WAIT in last else None

    def levels(self, name: str, at: float) -> tuple[float, float] | None:
        """Return the mean of a sign in the two minutes before a moment and since; None when one is not known."""
        known = [(elapsed, values[name]) for elapsed, values in list(self._rows) if name in values]
        before = [one for one in known if at - BEFORE_SECONDS <= one[0] < at]
        after = [one for one in known if one[0] >= at]
        sign = SIGNS[name]
        was, now = (rate(rows) if sign.counter else mean(rows) for rows in (before, after))
        return None if was is None or now is None else (was * sign.unit, now * sign.unit)

    def change(self, at: float) -> str:
        """Return what became more or less frequent on the machine at a moment, in words, or an empty string."""
        found = {name: levels for name in SIGNS if (levels := self.levels(name, at)) is not None}
        return "; ".join(SIGNS[name].text(*both) for name, both in found.items() if is_telling(both))

    def explain(self, step: LevelStep, alike: bool | None) -> LevelStep:
        """Return the step with what the machine did at its moment, and whether that accounts for it.

        Args:
            step: The step.
            alike: Whether it shows among seconds in which others were in the way about as much; None where there are
                too few of them.
        """
        around = self.change(step.elapsed)
        told = replace(step, reason=f"{step.reason} ({around})") if around else step
        if alike is False or (alike is None and self.is_of_others(step)):
            return replace(told, contention=around or UNCHANGED)
        return told

    def is_of_others(self, step: LevelStep) -> bool:
        """Whether others took from the server, or gave back to it, what makes it so much slower, or faster.

        They did when a quota or another guest of the host took more, when others used much more of the machine, or when
        the server waited more for a core while others used some of it, and the server itself did not use more.
        """
        way = 1 if slower(step.changes) else -1
        levels = {name: both for name in SIGNS if (both := self.levels(name, step.elapsed)) is not None}
        rises = {name: way * (after - before) for name, (before, after) in levels.items()}
        taken = max(rises.get("steal_cores", 0.0), rises.get("cgroup_throttled_us", 0.0))
        felt = rises.get(WAIT, rises.get("cpu_pressure_some", 0.0))
        busy = max(levels.get(OTHERS, (0.0, 0.0))) >= CORES and rises.get(OTHERS, 0.0) >= rises.get(OWN, 0.0)
        much = rises.get(OTHERS, 0.0) >= SHARE * PROCESSORS
        return taken >= TAKEN or much or (felt >= WAITING and busy)


def mean(rows: list[tuple[float, float]]) -> float | None:
    """Return the mean of readings, None without any."""
    return sum(value for _, value in rows) / len(rows) if rows else None


def rate(rows: list[tuple[float, float]]) -> float | None:
    """Return what was added to a counter a second between the first and the last reading."""
    if len(rows) < 2 or rows[-1][0] <= rows[0][0]:
        return None
    return max(0.0, (rows[-1][1] - rows[0][1]) / (rows[-1][0] - rows[0][0]))


def is_telling(both: tuple[float, float]) -> bool:
    """Whether a sign changed by enough to be told."""
    return abs(both[1] - both[0]) >= TELLING
