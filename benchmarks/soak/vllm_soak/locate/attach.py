# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak locate`: what grows in a running process that carries the probe.

The load is not ours, so a round is a window of time. Work is counted by the processor time that the process took
where it is busy, since that follows the load and a shared machine's speed, and by the second where it mostly waits.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from vllm_soak.errors import EngineError, ExitCode, UsageError
from vllm_soak.locate.grown import Grown
from vllm_soak.locate.journal import Journal
from vllm_soak.locate.socket_of_pid import find_socket
from vllm_soak.probe.client import ProbeClient
from vllm_soak.report.printable import printable
from vllm_soak.verdict.growth import FEWEST_ROUNDS
from vllm_soak.verdict.judge import exit_code
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict

# Work in a window is in hundredths of a second: fine enough for windows of a second.
PER_SECOND = 100
# Windows before those that count. In the first, a container is met where the walk came past it; from the second on it
# is looked up at the end of each census, which is seconds later where the walk is in slices.
WARM_UP = 2
# A process is busy when it takes this share of a processor, and so many hundredths of a second in a window.
BUSY_SHARE = 0.1
FEWEST_TICKS = 20
# Share of the time that a walk in slices takes.
SLICED_SHARE = 1 / 20


@dataclass(frozen=True, slots=True)
class Windows:
    """How long to look.

    Args:
        rounds: Windows that are compared, at least.
        interval: Seconds of a window.
        max_rounds: Windows at most, when the answer is not clear after `rounds`.
        max_pause_ms: Longest time that a census may stop the process at once, in milliseconds; 0 for no limit.
    """

    rounds: int = 5
    interval: float = 10.0
    max_rounds: int = 15
    max_pause_ms: float = 5.0

    def check(self) -> None:
        """Refuse what cannot lead to an answer.

        Raises:
            UsageError: A value is out of range.
        """
        if self.rounds < FEWEST_ROUNDS:
            raise UsageError(f"--rounds {self.rounds} is too few for a trend", f"use {FEWEST_ROUNDS} or more")
        if self.interval < 0.1:
            raise UsageError(f"--interval {self.interval:g} is too short", "use 0.1 seconds or more")
        if not 0 <= self.max_pause_ms <= 1000:
            raise UsageError(f"--max-pause-ms {self.max_pause_ms:g} is no pause", "use 0 (no limit) to 1000")


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
        self._since = time.monotonic()
        self._outcome: Outcome = Outcome.INCONCLUSIVE
        self._ticks = 0.0
        self._cpu: list[int] = []
        self.say(f"{printable(who['process'])} (pid {who['pid']}), Python {printable(who['python'])}")

    def watch(self) -> None:
        """Take a baseline, then a census after every window, until the answer is clear."""
        self._look(baseline=True)
        for index in range(1, WARM_UP + 1 + max(self._windows.rounds, self._windows.max_rounds)):
            if index > WARM_UP + self._windows.rounds and self._is_clear():
                return
            time.sleep(self._windows.interval)
            self._look(baseline=False)

    def _is_clear(self) -> bool:
        """Whether there is a leak, or the answer is the same as a window ago: one idle window clears nothing."""
        before, self._outcome = self._outcome, self.located().verdict.outcome
        return self._outcome is Outcome.LEAK or self._outcome is before is not Outcome.INCONCLUSIVE

    def located(self) -> Located:
        """Judge what was seen so far."""
        busy = self.is_busy()
        verdict = self.journal.verdict(self._cpu if busy else None)
        unit = "CPU second" if busy else "second"
        return Located(verdict, [Grown(one, unit, PER_SECOND) for one in verdict.suspects])

    def is_busy(self) -> bool:
        """Whether processor time tells how much was done in a window."""
        length = sum(one.requests for one in self.journal.arm.rounds)
        ticks, windows = sum(self._cpu[1:]), len(self._cpu) - 1
        return windows > 0 and ticks >= max(FEWEST_TICKS * windows, BUSY_SHARE * length)

    def _look(self, *, baseline: bool) -> None:
        answer = self._probe.census(baseline=baseline, max_pause_ms=self._windows.max_pause_ms)
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        self._cpu.append(self._processor_time(answer["seconds"]))
        index = len(self.journal.arm.rounds)
        work = 0 if baseline else max(1, round(seconds * PER_SECOND))
        self.journal.add(answer, work=work, seconds=seconds, measured=index > WARM_UP, values=None)
        self.say(self._progress(answer, index))

    def _processor_time(self, census: float) -> int:
        """Hundredths of a second that the process took since the last census, less what this one took."""
        values: dict[str, float] = self._probe.sample(settle=False)["values"]
        jiffies = values.get("cpu_user_jiffies", 0.0) + values.get("cpu_system_jiffies", 0.0)
        ticks, before = jiffies * PER_SECOND / os.sysconf("SC_CLK_TCK"), self._ticks
        self._ticks = ticks
        own = census * (SLICED_SHARE if self._windows.max_pause_ms else 1.0)
        return max(1, round(ticks - before - own * PER_SECOND))

    def _progress(self, answer: dict[str, object], index: int) -> str:
        cut = f"; {printable(answer['partial'])}" if answer["partial"] else ""
        what = self._window(index - WARM_UP) if index > WARM_UP else ("warm-up" if index else "baseline")
        return f"  {what}: {answer['objects']:,} objects walked in {answer['seconds']:.2f} s{cut}"

    def _window(self, number: int) -> str:
        wanted, most = self._windows.rounds, self._windows.max_rounds
        return f"window {number} of {wanted}" if number <= wanted else f"window {number} of at most {most}"

    def say(self, text: str) -> None:
        """Print a line as it is."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def locate(pid: int | None, socket: Path | None, windows: Windows, console: Console) -> int:
    """Watch a process, print what grows in it, and return the exit code.

    Args:
        pid: The process.
        socket: Its probe's socket, instead of a pid.
        windows: How long to look.
        console: Where to print.

    Raises:
        UsageError: Neither or both of pid and socket are given, or there is no probe.
        EngineError: The process ended or hangs; what was seen until then has been printed.
    """
    windows.check()
    observer = Observer(connected(probe_socket(pid, socket)), windows, console)
    try:
        observer.watch()
    except EngineError:
        show(observer.located(), console)  # what was seen until then is worth knowing
        raise
    except KeyboardInterrupt:  # likewise, and as good an answer as any
        observer.say("interrupted")
    found = observer.located()
    show(found, console)
    return found.exit_code


def connected(path: Path) -> ProbeClient:
    """A client of the probe behind a socket.

    Raises:
        UsageError: Nobody answers there.
    """
    probe = ProbeClient(path)
    try:
        probe.ping()
    except EngineError as silent:
        raise UsageError(f"no probe answers at {path}", "see that the process is alive and not stopped") from silent
    return probe


def probe_socket(pid: int | None, socket: Path | None) -> Path:
    """The socket to ask.

    Raises:
        UsageError: It cannot be told, or is not there.
    """
    if (pid is None) == (socket is None):
        raise UsageError("locate needs one process", "give either --pid or --socket")
    if socket is None:
        return find_socket(pid or 0)
    if not socket.is_socket():
        raise UsageError(f"{socket} is not a probe's socket", "give the path of a running process's PID.sock, or --pid")
    return socket


def show(found: Located, console: Console) -> None:
    """Print ladders, then the answer."""
    verdict = found.verdict
    lines = [f"\n{one}" for one in found.grown]
    lines += [f"\n{verdict.outcome.value.upper()}  {printable(verdict.reason)}"]
    if verdict.outcome is Outcome.INCONCLUSIVE and verdict.settle:
        lines.append(f"to settle it: {printable(verdict.settle)}")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
