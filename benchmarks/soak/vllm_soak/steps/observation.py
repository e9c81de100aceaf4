# SPDX-License-Identifier: Apache-2.0
"""One arm of a run under observation from outside: sampler, step watch and captures, written to the run's store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from vllm_soak.errors import SoakError
from vllm_soak.observe.keeper import PointKeeper
from vllm_soak.observe.sampler import INTERVAL, METRICS_SECONDS, SamplerHooks, TreeSampler
from vllm_soak.steps.capture import BASELINE, Capturer
from vllm_soak.steps.contents import LONGEST_SECONDS, Sources
from vllm_soak.steps.feed import Feed
from vllm_soak.steps.seconds import RecentSeconds, of_load, of_server
from vllm_soak.steps.surroundings import Surroundings
from vllm_soak.steps.watch import StepWatch
from vllm_soak.store.outside import CLIENT, HOST, SERVER, TREE, Capture, LevelStep, Point
from vllm_soak.store.writer import RunStore

# Seconds that the end of a run waits for a capture under way: one of a real server took 23 s on a busy machine.
PATIENCE = 45.0


@dataclass(frozen=True, slots=True)
class Subject:
    """What is observed.

    Args:
        root: Pid of the root of the target's process tree.
        arm: Name of the arm.
        metrics: Address of the server, for its own metrics; None for a target without any.
        probe: Answers the socket of a pid's probe, or None where none is armed.
        log: The server's log, or None.
        requests: Answers the number of requests completed so far.
        note: Takes what the user should know at once.
        driven: Whether the load is ours: `second` is called once a second. Else the server's own counters are watched.
    """

    root: int
    arm: str = "run"
    metrics: str | None = None
    probe: Callable[[int], Path | None] = lambda _pid: None
    log: Path | None = None
    requests: Callable[[], int] = lambda: 0
    note: Callable[[str], None] = lambda _text: None
    driven: bool = True


class Observation:
    """Observes one target until it is stopped.

    Args:
        store: Where everything goes; the arm is in it already.
        run_folder: Where captures go.
        subject: What is observed.
    """

    def __init__(self, store: RunStore, run_folder: Path, subject: Subject) -> None:
        self._store = store
        self._subject = subject
        self._keeper = PointKeeper(store.add_points)
        hooks = SamplerHooks(self._sampled, store.add_process_event, subject.note, subject.requests)
        seconds = METRICS_SECONDS if subject.driven else INTERVAL
        self.sampler = TreeSampler(
            subject.root, hooks, arm=subject.arm, metrics=subject.metrics, metrics_seconds=seconds
        )
        surroundings = Surroundings()
        self.watch = StepWatch(self._stepped, arm=subject.arm, explain=surroundings.explain)
        self._recent = RecentSeconds()
        self._feed = Feed(self.watch, surroundings)
        sources = Sources(lambda: self.sampler.processes, subject.probe, subject.log, self._pages)
        self._capturer = Capturer(run_folder, sources, self._captured, arm=subject.arm)
        self._cores: float | None = None
        self._server: Point | None = None
        self._failure: Exception | None = None

    def start(self) -> None:
        """Begin to sample."""
        # It takes a second or more, which the first search must not take from the load's own thread.
        threading.Thread(target=import_module, args=("ruptures",), daemon=True).start()
        self.sampler.start()

    def stop(self) -> None:
        """Sample no more, wait a while for a capture under way, and write what is left.

        Raises:
            StoreError: The store cannot be written.
        """
        self.sampler.stop()
        self._capturer.wait(PATIENCE)
        self._keeper.flush()
        self.check()

    @property
    def server(self) -> Mapping[str, float]:
        """The server's own counters, as they were read last; empty before that."""
        return self._server.values if self._server is not None else {}

    def check(self) -> None:
        """Raise what ended the sampler or a capture, when that was the store.

        Anything else was said when it happened: a run does not end because it can no longer be looked at.

        Raises:
            StoreError: The store cannot be written.
        """
        for failure in (self.sampler.failure, self._failure):
            if isinstance(failure, SoakError):
                raise failure

    def second(self, event: Mapping[str, Any]) -> None:
        """Take a load process's `second` event.

        Raises:
            StoreError: The store cannot be written.
        """
        self._watch_second(of_load(event, self._cores))

    def pause(self) -> None:
        """The load stops: a round is drained."""
        self.watch.pause()

    def resume(self) -> None:
        """The load goes on as before."""
        self.watch.resume()

    def baseline(self) -> None:
        """Take a capture to compare later ones with, and wait for it: before the warm-up is over.

        What it leaves behind in the target would otherwise be growth of the first measured round.
        """
        self._capturer.request(BASELINE, self.sampler.elapsed)
        self._capturer.wait(LONGEST_SECONDS)

    def steady(self) -> None:
        """The warm-up is over: forget what was usual before it."""
        self.watch.restart()

    def _watch_second(self, values: dict[str, float]) -> None:
        elapsed, requests = self.sampler.elapsed, self._subject.requests()
        point = Point(self._subject.arm, elapsed, CLIENT, 0, requests, values)
        self._recent.add(elapsed, values)
        self._keeper.add([point])
        self._feed.take(point)

    def _sampled(self, points: list[Point]) -> None:
        """Take the sampler's points, in its thread."""
        self._keeper.add(points)
        for point in points:
            if point.process in {TREE, HOST}:
                self._feed.take(point)
            if point.process == TREE:
                self._cores = point.values.get("cores")
            elif point.process == SERVER:
                self._counted(point)

    def _counted(self, point: Point) -> None:
        """Watch the server's own counters where the load is not ours."""
        before, self._server = self._server, point
        if not self._subject.driven and before is not None:
            seconds = point.elapsed - before.elapsed
            self._watch_second(of_server(before.values, point.values, seconds, self._cores))

    def _stepped(self, step: LevelStep) -> None:
        self._store.add_level_step(step)
        whose = "the machine was busy with others: " if step.contention else ""
        self._subject.note(f"{self._subject.arm}: at {step.elapsed:.0f} s {whose}{step.reason}")
        refused = self._capturer.request(step.reason, step.seen, of_others=bool(step.contention))
        if refused:
            self._subject.note(f"{self._subject.arm}: no capture of that: {refused}")

    def _captured(self, capture: Capture) -> None:
        """Take a capture's record, in its thread."""
        try:
            self._store.add_capture(capture)
        except SoakError as failure:
            self._failure = failure
        if capture.reason != BASELINE:
            self._subject.note(f"{self._subject.arm}: captured in {capture.folder}")

    def _pages(self) -> dict[str, str]:
        return {"seconds.csv": self._recent.page()}
