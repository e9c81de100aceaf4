# SPDX-License-Identifier: Apache-2.0
"""Watches one process over its probe.

The load is not ours, so a round is a window of time. Work is counted by the processor time that the process took
where it is busy, since that follows the load and a shared machine's speed, and by the second where it mostly waits.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vllm_soak.errors import ExitCode
from vllm_soak.locate.glances import Glance, closely, scatter
from vllm_soak.locate.grown import Grown
from vllm_soak.locate.journal import Journal
from vllm_soak.locate.windows import WARM_UP, Windows
from vllm_soak.locate.wording import of_windows
from vllm_soak.report.printable import printable
from vllm_soak.verdict.growth import FEWEST_ROUNDS
from vllm_soak.verdict.judge import exit_code
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict, Suspect
from vllm_soak.verdict.process import judge_process
from vllm_soak.verdict.series import measured_rounds

if TYPE_CHECKING:
    from rich.console import Console

    from vllm_soak.probe.client import ProbeClient

# Work in a window is in hundredths of a second: fine enough for windows of a second.
PER_SECOND = 100
# A process is busy when it takes this share of a processor, and so many hundredths of a second in a window.
BUSY_SHARE = 0.1
FEWEST_TICKS = 20
# Share of the time that a walk in slices takes.
SLICED_SHARE = 1 / 20


@dataclass(slots=True)
class Located:
    """What was found in a process, and what is said of it."""

    verdict: ProcessVerdict
    grown: list[Grown] = field(default_factory=list)

    @property
    def exit_code(self) -> ExitCode:
        """0 nothing, 1 a leak, 2 inconclusive."""
        return exit_code(self.verdict.outcome)


class Observer:
    """Watches one process over its probe.

    Args:
        probe: The probe's client.
        windows: How long to look.
        console: Where progress is printed.

    Raises:
        EngineError: The process does not answer; so for every method.
    """

    def __init__(self, probe: ProbeClient, windows: Windows, console: Console) -> None:
        who = probe.ping()
        self.journal = Journal(who["process"], who["pid"])
        self._probe = probe
        self._windows = windows
        self._console = console
        self._outcome: Outcome = Outcome.INCONCLUSIVE
        self._ticks = 0.0
        self._at = time.monotonic()
        # Work since the last census by processor time and by the clock, in hundredths of a second.
        self._since = [0, 0]
        self._cpu: list[int] = []
        self._glances: list[Glance] = []
        self._said: set[str] = set()  # what censuses did not see: once is enough
        self.say(f"{printable(who['process'])} (pid {who['pid']}), Python {printable(who['python'])}")

    def watch(self) -> None:
        """Take a baseline, then a census after every window, until the answer is clear."""
        self._look(baseline=True)
        for index in range(1, WARM_UP + 1 + self._windows.most):
            if index > WARM_UP + self._windows.rounds and self._is_clear():
                return
            for pause in self._windows.pauses[:-1]:
                time.sleep(pause)
                self._glance()
            time.sleep(self._windows.pauses[-1])
            self._look(baseline=False)

    def _is_clear(self) -> bool:
        """Whether there is a leak, or the answer is the same as a window ago: one idle window clears nothing."""
        before, self._outcome = self._outcome, self.located().verdict.outcome
        return self._outcome is Outcome.LEAK or self._outcome is before is not Outcome.INCONCLUSIVE

    def located(self) -> Located:
        """Judge what was seen so far."""
        busy = self.is_busy()
        verdict = self._judged(busy=busy)
        if verdict.outcome is Outcome.INCONCLUSIVE and len(measured_rounds(self.journal.arm)) >= FEWEST_ROUNDS:
            open_to = next((one.path for one in verdict.suspects if one.outcome is Outcome.INCONCLUSIVE), "")
            by = min([busy, False], key=lambda one: scatter(self._glances, open_to, busy=one))
            closer = sharpened(self._judged(busy=by), self._judged_closely(busy=by), len(self._glances))
            busy, verdict = (by, closer) if closer.outcome is Outcome.LEAK else (busy, verdict)
        unit = "CPU second" if busy else "second"
        verdict = of_windows(unit, PER_SECOND).of(verdict)
        return Located(verdict, [Grown(one, unit, PER_SECOND) for one in verdict.suspects])

    def _judged(self, *, busy: bool) -> ProcessVerdict:
        return self.journal.verdict(self._cpu if busy else None)

    def _judged_closely(self, *, busy: bool) -> list[Suspect]:
        arm = closely(self.journal.arm, self._glances, busy=busy)
        return judge_process(arm, self.journal.process).suspects

    def is_busy(self) -> bool:
        """Whether processor time tells how much was done in a window."""
        length = sum(one.requests for one in self.journal.arm.rounds)
        ticks, windows = sum(self._cpu[1:]), len(self._cpu) - 1
        return windows > 0 and ticks >= max(FEWEST_TICKS * windows, BUSY_SHARE * length)

    def _look(self, *, baseline: bool) -> None:
        answer = self._probe.census(
            baseline=baseline, max_pause_ms=self._windows.max_pause_ms, contents=self._windows.show_contents
        )
        index = len(self.journal.arm.rounds)
        lengths = self._glance(census=answer["seconds"], index=index)
        (ticks, passed), self._since = self._since, [0, 0]
        self._cpu.append(max(1, ticks))
        work = 0 if baseline else max(1, passed)
        rows = [_as_of(row, lengths) for row in answer["populations"]]
        seen = {**answer, "populations": rows}
        self.journal.add(seen, work=work, seconds=passed / PER_SECOND, measured=index > WARM_UP, values=None)
        self.say(self._progress(answer, index))

    def _glance(self, census: float = 0.0, index: int | None = None) -> dict[str, int]:
        """Read lengths and processor time.

        Args:
            census: Seconds that a census took just before, whose own processor time is not the program's.
            index: That census's, if there was one.
        """
        seen = self._probe.glance()
        now, ticks = time.monotonic(), _ticks(seen["values"])
        own = census * (SLICED_SHARE if self._windows.max_pause_ms else 1.0) * PER_SECOND
        worked, passed = round(ticks - self._ticks - own), round((now - self._at) * PER_SECOND)
        self._ticks, self._at = ticks, now
        self._since = [self._since[0] + worked, self._since[1] + passed]
        window = len(self.journal.arm.rounds) - 1 if index is None else index
        lengths: dict[str, int] = seen.get("named", {})  # an older probe does not say
        if window >= WARM_UP:
            self._glances.append(Glance(worked, passed, lengths))
        return lengths

    def _progress(self, answer: dict[str, object], index: int) -> str:
        news = [one for one in str(answer["partial"]).split("; ") if one and one not in self._said]
        self._said.update(news)
        cut = "".join(f"; {printable(one)}" for one in news)
        what = self._window(index - WARM_UP) if index > WARM_UP else ("warm-up" if index else "baseline")
        return f"  {what}: {answer['objects']:,} objects walked in {answer['seconds']:.2f} s{cut}"

    def _window(self, number: int) -> str:
        wanted, most = self._windows.rounds, self._windows.max_rounds
        return f"window {number} of {wanted}" if number <= wanted else f"window {number} of at most {most}"

    def say(self, text: str) -> None:
        """Print a line as it is."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def sharpened(verdict: ProcessVerdict, close: list[Suspect], readings: int) -> ProcessVerdict:
    """A verdict whose open questions are answered by closer readings, where these say `leak`.

    Args:
        verdict: What the windows say.
        close: What the readings say of each container.
        readings: How many there were.
    """
    leaks = {one.path: one for one in close if one.outcome is Outcome.LEAK}
    suspects = [_settled(one, leaks.get(one.path), readings) for one in verdict.suspects]
    found = [one for one in suspects if one.outcome is Outcome.LEAK]
    if not found:
        return verdict
    rest = [one for one in suspects if one.outcome is not Outcome.LEAK]
    reason = f"{found[0].path} {found[0].reason}"
    return replace(verdict, outcome=Outcome.LEAK, rule=found[0].rule, reason=reason, suspects=found + rest)


def _settled(suspect: Suspect, close: Suspect | None, readings: int) -> Suspect:
    if close is None or suspect.outcome is not Outcome.INCONCLUSIVE:
        return suspect
    reason = f"{_by_readings(close.reason)} ({readings} readings, several to a window)"
    return replace(suspect, outcome=Outcome.LEAK, rule=close.rule, reason=reason)


def _by_readings(reason: str) -> str:
    """What a rule says of rounds, where each is a reading."""
    return re.sub(r"\bround(s?)\b", r"reading\1", reason.replace("measured round", "round"))


def _as_of(row: dict[str, Any], lengths: dict[str, int]) -> dict[str, Any]:
    """A census's row with the length at the glance after it: the walk came past each container at another time."""
    now = lengths.get(row["path"])
    if now is None:
        return row
    grown, before = row.get("grown"), row["length"]
    own = row["shallow_bytes"] * now // before if before else row["shallow_bytes"]
    return {**row, "length": now, "shallow_bytes": own, "grown": grown and grown + now - before}


def _ticks(values: dict[str, float]) -> float:
    """Hundredths of a second of processor time that a process has taken."""
    jiffies = values.get("cpu_user_jiffies", 0.0) + values.get("cpu_system_jiffies", 0.0)
    return jiffies * PER_SECOND / os.sysconf("SC_CLK_TCK")
