# SPDX-License-Identifier: Apache-2.0
"""Watches a server that somebody else runs, window by window."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from vllm_soak.engines.attached import Attached, engine_name
from vllm_soak.engines.census_rows import census_row, population_rows
from vllm_soak.engines.resident import Least
from vllm_soak.errors import EngineError
from vllm_soak.observe.role import is_engine
from vllm_soak.observe.server_metrics import ServerMetrics
from vllm_soak.probe.client import ProbeClient
from vllm_soak.report.live import LiveView
from vllm_soak.steps.observation import Observation, Subject
from vllm_soak.store.reader import read_run
from vllm_soak.store.record import MEASURED, WARM_UP, PatchRow, Round, Sample
from vllm_soak.store.writer import RunStore
from vllm_soak.verdict.judge import judge
from vllm_soak.verdict.outcome import Outcome, RunVerdict
from vllm_soak.windows import Windows

ARM = "run"
# Windows before those that count: in the first, a census meets every container for the first time.
WARM_UP_WINDOWS = 2
LOOK_SECONDS = 1.0
METRICS_SECONDS = 5.0
# Looks for the server's count of requests: without one all that follows is counted by the second.
FIRST_TRIES, FIRST_PAUSE = 3, 0.5


class Watcher:
    """Watches one server window by window.

    Args:
        server: The server.
        windows: How it is watched.
        store: Where rows go.
        folder: The run folder.
        progress: Shows what is going on.
    """

    def __init__(self, server: Attached, windows: Windows, store: RunStore, folder: Path, progress: LiveView) -> None:
        self.server = server
        self.windows = windows
        self.store = store
        self.folder = folder
        self.progress = progress
        store.add_arm(ARM, self._facts())
        subject = Subject(
            root=server.pid,
            arm=ARM,
            metrics=server.health.url,
            probe=server.socket,
            requests=self._told,
            note=progress.note,
            driven=False,
        )
        self.observation = Observation(store, folder, subject)
        self._metrics = ServerMetrics(server.health.url, timeout=METRICS_SECONDS)
        self._first = self._first_count()
        self._total = 0
        self.began = self._since = time.monotonic()
        self.verdict = judge(read_run(folder, points=False))
        self._walked: set[int] = set()

    def run(self) -> None:
        """Look at the server window by window until the answer is clear or the time is over.

        Raises:
            EngineError: The server ended.
        """
        try:
            self._watch()
        except EngineError:  # a probe may answer no more: that its server ended says more
            self._wait_for_end()
            raise

    def _watch(self) -> None:
        self.observation.start()
        self._report_probes()
        self._window(0, WARM_UP, 0.0)
        index = idle = 0
        while not self._is_over(index):
            title = (
                f"window {index - WARM_UP_WINDOWS + 1}" if index >= WARM_UP_WINDOWS else f"warm-up window {index + 1}"
            )
            self.progress.phase(title)
            if self._window(index + 1, MEASURED if index >= WARM_UP_WINDOWS else WARM_UP, self.windows.window):
                index, idle = index + 1, 0
                continue
            idle += 1
            self.progress.note("no request was finished in that window: it does not count")
            if idle >= self.windows.patience:
                self.store.add_event(ARM, "warning", f"nobody sent a request for {idle} windows")
                return

    def _first_count(self) -> float | None:
        """The server's count of requests as of now; a server that is busy is asked again."""
        for tries in range(FIRST_TRIES):
            time.sleep(FIRST_PAUSE if tries else 0.0)
            count = self._metrics.read().get("requests")
            if count is not None:
                return count
        return None

    def _is_over(self, done: int) -> bool:
        """Whether enough was seen: by the clock where a time was given, else when the answer is clear."""
        measured = done - WARM_UP_WINDOWS
        if self.windows.duration is not None:
            return time.monotonic() - self.began >= self.windows.seconds
        if measured < self.windows.rounds:
            return False
        return measured >= self.windows.max_rounds or self.verdict.outcome is not Outcome.INCONCLUSIVE

    def _judged(self) -> RunVerdict:
        run = read_run(self.folder, points=False)
        verdict = judge(run)
        self.progress.judged(run, verdict, [ARM])
        return verdict

    def _window(self, index: int, phase: str, seconds: float) -> bool:
        """Wait for a window, then record it; return whether any request was finished in it."""
        least = Least()
        self._wait(seconds, least)
        total, now = self._counted(), time.monotonic()
        # The load went on while the censuses of the window before were taken: that is part of this one's time.
        done, took = total - self._total, now - self._since
        self._since = now
        if seconds and done <= 0:
            return False
        self._total = total
        self.store.add_round(Round(ARM, index, phase, done, total, took))
        for process, pid in self._processes().items():
            self._record(process, pid, index, phase, least)
        self.verdict = self._judged()
        return True

    def _processes(self) -> dict[str, int]:
        """Pids by role of the engine's own processes and of others that carry the probe; of all where none is known."""
        living = self.observation.sampler.processes
        return {name: pid for name, pid in living.items() if is_engine(name) or self.server.socket(pid)} or living

    def _wait(self, seconds: float, least: Least) -> None:
        until = time.monotonic() + seconds
        while True:
            self._check_lives()
            self.observation.check()
            least.look(list(self.observation.sampler.processes.values()), self._told())
            left = until - time.monotonic()
            if left <= 0 and least.by_pid:
                return
            self.progress.advance(seconds - max(left, 0.0), seconds)
            time.sleep(min(LOOK_SECONDS, max(left, 0.1)))

    def _check_lives(self) -> None:
        if not self.server.lives():
            raise EngineError(f"the server's process {self.server.pid} ended", "see the server's own log for why")

    def _wait_for_end(self) -> None:
        """Raise that the server ended, if it does within a second: its files are closed before it is gone."""
        until = time.monotonic() + LOOK_SECONDS
        while time.monotonic() < until:
            self._check_lives()
            time.sleep(0.05)

    def _record(self, process: str, pid: int, index: int, phase: str, least: Least) -> None:
        """Keep what is known of one process at the end of a window."""
        reading = least.by_pid.get(pid)
        values = {"in_use": reading.bytes} if reading else {}
        requests = min(reading.requests, self._total) if reading else self._total
        elapsed = time.monotonic() - self.began
        self.store.add_sample(Sample(ARM, process, pid, phase, index, requests, elapsed, values))
        socket = self.server.socket(pid)
        if socket is None:
            return
        probe = ProbeClient(socket)
        before = self._counted()
        answer = probe.census(baseline=pid not in self._walked, max_pause_ms=self.windows.max_pause_ms)
        self._walked.add(pid)
        # Lengths are read somewhere within a walk, and the load goes on meanwhile: half-way is the least wrong.
        requests = (before + self._counted()) // 2
        where: dict[str, Any] = {"arm": ARM, "process": process, "round": index, "requests": requests}
        self.store.add_census(census_row(answer, where), population_rows(answer, where))

    def _report_probes(self) -> None:
        """Say which processes carry the probe, and keep what became of the patches in them."""
        self._wait(0.0, Least())
        armed = [name for name, pid in self._processes().items() if self._ask_patches(name, pid)]
        if armed:
            self.progress.note(f"the probe answers in {', '.join(armed)}")
            return
        text = "no probe is armed in the server (VLLM_SOAK_PROBE=1 in its environment): bytes only, no containers"
        self.store.add_event(ARM, "warning", text)
        self.progress.note(text)

    def _ask_patches(self, name: str, pid: int) -> bool:
        socket = self.server.socket(pid)
        if socket is None:
            return False
        rows = ProbeClient(socket).patches()
        self.store.add_patches([PatchRow(arm=ARM, **{**row, "process": name}) for row in rows])
        return True

    def _counted(self) -> int:
        """Requests that the server has finished since the start, as of now; seconds where it does not count them."""
        if self._first is None:
            return round(time.monotonic() - self.began)
        told = self._metrics.read().get("requests")
        return self._total if told is None else max(self._total, round(told - self._first))

    def _told(self) -> int:
        """Likewise as the sampler has read it last: for the axis of its points, and for readings of memory."""
        if self._first is None:
            return round(time.monotonic() - self.began)
        told = self.observation.server.get("requests")
        return self._total if told is None else max(self._total, round(told - self._first))

    def _facts(self) -> dict[str, Any]:
        health = self.server.health
        served = health.model()
        return {
            "name": engine_name(served),
            "version": health.version(),
            "driver": "attach",
            "model": served.get("root") or served.get("id") or "",
            "pid": self.server.pid,
            "url": health.url,
        }
