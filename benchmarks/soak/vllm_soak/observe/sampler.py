# SPDX-License-Identifier: Apache-2.0
"""Samples a target's whole process tree from outside, once a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from vllm_soak.observe.control_group import control_group_of
from vllm_soak.observe.gpu import Gpus
from vllm_soak.observe.host import read_host, shared_memory
from vllm_soak.observe.members import Member, Members
from vllm_soak.observe.neighbours import Neighbours
from vllm_soak.observe.proc_stat import Stat
from vllm_soak.observe.server_metrics import ServerMetrics
from vllm_soak.observe.tree import ProcessTree
from vllm_soak.store.outside import HOST, SERVER, TREE, Point, ProcessEvent

INTERVAL = 1.0
# The server is asked for its metrics more rarely: answering takes its event loop some milliseconds.
METRICS_SECONDS = 5.0
# What is added up over the processes of a tree.
ADDED = ("rss", "rss_anon", "rss_shmem", "swap", "in_use", "pss", "uss", "threads", "fds", "cores", "gpu")
ADDED_RATES = ("minor_faults", "major_faults", "switches", "cpu_wait", "main_wait")
# Seconds to wait for the thread: a reading takes milliseconds, a server that is late one second.
JOIN_SECONDS = 10.0

OnPoints = Callable[[list[Point]], None]
OnEvent = Callable[[ProcessEvent], None]
OnNote = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SamplerHooks:
    """Where readings go, and what the sampler asks its owner.

    Args:
        on_points: Takes the points of one moment: processes first, then `TREE`, `HOST` and, when asked, `SERVER`.
        on_event: Takes each process that appeared, died, restarted or took another role.
        on_note: Takes, once each, what cannot be had (`no NVML: ...`), and why a reading failed.
        requests: Answers the number of requests completed so far.
        name_of: Answers the role of a pid where the owner knows better, else an empty string.
    """

    on_points: OnPoints
    on_event: OnEvent = lambda _event: None
    on_note: OnNote = lambda _text: None
    requests: Callable[[], int] = lambda: 0
    name_of: Callable[[int], str] = lambda _pid: ""


class TreeSampler:
    """Samples a process and everything below it, wherever it lives: nothing is put into the target.

    `start()` begins a thread that calls `sample()` once an interval; an owner with a loop of its own may call
    `sample()` itself instead. Hooks run in that thread. What a hook raises ends the thread, and `failure` keeps it.

    Args:
        root: Pid of the root of the tree.
        hooks: Where readings go.
        arm: Name of the arm, for the points.
        metrics: Address of the server whose own metrics are wanted (`http://127.0.0.1:8000`), or None.
        interval: Seconds between readings.
        metrics_seconds: Seconds between questions to the server.

    Attributes:
        failure: What a hook raised (a full disk: StoreError), or None.
    """

    def __init__(
        self,
        root: int,
        hooks: SamplerHooks,
        *,
        arm: str = "run",
        metrics: str | None = None,
        interval: float = INTERVAL,
        metrics_seconds: float = METRICS_SECONDS,
    ) -> None:
        self.root = root
        self.hooks = hooks
        self.arm = arm
        self.interval = interval
        self.failure: Exception | None = None
        self._members = Members(ProcessTree(root), self._changed, hooks.name_of)
        self._group = control_group_of(root)
        self._neighbours = Neighbours()
        self._gpus = Gpus()
        self._server = ServerMetrics(metrics) if metrics else None
        self._metrics_seconds = metrics_seconds
        self._ask_from = 0.0
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._notes: set[str] = set()

    @property
    def elapsed(self) -> float:
        """Seconds since the sampler was made: the time axis of every point."""
        return time.monotonic() - self._began

    @property
    def processes(self) -> dict[str, int]:
        """Pids of the living processes by role."""
        return self._members.pids

    def start(self) -> None:
        """Sample in a thread of its own until `stop`."""
        self._thread = threading.Thread(target=self._run, name="vllm-soak-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the reading under way; harmless when repeated or never started."""
        self._over.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN_SECONDS)
        if self._server is not None:
            self._server.close()
        self._gpus.close()

    def sample(self) -> list[Point]:
        """Read everything once, hand it to the hooks and return it."""
        if self._gpus.missing:
            self._note(self._gpus.missing)
        now, requests = time.monotonic(), self.hooks.requests()
        found = self._members.look()
        gpu = self._gpus.processes()
        read = [(member, self._read(member, stat, gpu, now)) for member, stat in found]
        rows = [(member.name, member.pid, values) for member, values in read if self._members.followed(member)]
        tree = together([{**member.reader.rare, **values} for member, values in read])
        others = self._neighbours.read(now, tree.get("cores"), {member.pid for member, _ in found})
        rows += [(TREE, 0, tree), (HOST, 0, {**self._host(), **others})]
        if self._server is not None and now >= self._ask_from:
            self._ask_from = now + self._metrics_seconds
            rows.append((SERVER, 0, self._server.read()))
        at = now - self._began
        points = [Point(self.arm, at, name, pid, requests, values) for name, pid, values in rows if values]
        self.hooks.on_points(points)
        return points

    def _run(self) -> None:
        """Sample at fixed moments; one that was missed is left out, not made up for."""
        due = time.monotonic()
        while not self._over.is_set():
            try:
                self.sample()
            except Exception as error:  # noqa: BLE001 - the owner asks for it; a thread has nobody to raise to
                self.failure = error
                self._note(f"sampling ended: {error}")
                return
            due = max(due + self.interval, time.monotonic())
            self._over.wait(due - time.monotonic())

    def _read(self, member: Member, stat: Stat, gpu: dict[int, float], now: float) -> dict[str, float]:
        values = member.reader.read(stat, now)
        return {**values, "gpu": gpu[member.pid]} if member.pid in gpu else values

    def _host(self) -> dict[str, float]:
        return {**read_host(), **shared_memory(self.root), **self._group.read(), **self._gpus.devices()}

    def _changed(self, kind: str, name: str, pid: int, detail: str) -> None:
        self.hooks.on_event(ProcessEvent(self.arm, self.elapsed, kind, name, pid, detail))

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            with suppress(Exception):
                self.hooks.on_note(text)


def together(values: list[dict[str, float]]) -> dict[str, float]:
    """Return the values of a tree: sums, of what every process of it has, and the number of `processes`."""
    total = {"processes": float(len(values))}
    for name in (*ADDED, *ADDED_RATES):
        known = [one[name] for one in values if name in one]
        if known and (len(known) == len(values) or name in {"gpu", "cores", *ADDED_RATES}):
            total[name] = sum(known)
    return total
