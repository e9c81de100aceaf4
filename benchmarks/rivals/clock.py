# SPDX-License-Identifier: Apache-2.0
"""How long the engine stands still, and the most memory that a process has had."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from vllm_soak.engines.load import Engine, Finished


class StepClock:
    """A driver's engine that remembers the longest time between the ends of two steps.

    Args:
        engine: The driver's engine.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.vocab_size = engine.vocab_size
        self.submit = engine.submit
        self.busy = engine.busy
        self.facts = engine.facts
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.longest = 0.0
        self._last = time.perf_counter()

    def step(self) -> list[Finished]:
        """Run one batch."""
        done = self.engine.step()
        now = time.perf_counter()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        return done


def status(pid: int) -> dict[str, float]:
    """Fields of /proc/PID/status that are in kB, as bytes."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    fields = (line.split() for line in lines if line.endswith(" kB"))
    return {name[:-1]: 1024.0 * int(value) for name, value, _ in fields}


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process so far, all threads; to the kernel's tick in another process than this one."""
    if pid == os.getpid():
        return time.process_time()
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Peak:
    """The most memory that a process has beyond what it has now; None where the kernel does not say.

    Args:
        pid: The process.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.known = False
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # resets the peak, see proc(5)
            self.known = True
        self.before = status(pid)["VmRSS"]

    def extra(self) -> float | None:
        """Bytes between then and the peak since."""
        return status(self.pid)["VmHWM"] - self.before if self.known else None


class Stopwatch:
    """Seconds and CPU seconds of this process since it was made: on a busy machine the second is the one to compare."""

    def __init__(self) -> None:
        self._seconds, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """Both, so far."""
        return {"seconds": time.perf_counter() - self._seconds, "cpu": time.process_time() - self._cpu}


def added(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """The sum of two readings of a stopwatch."""
    return {unit: one[unit] + other[unit] for unit in one}
