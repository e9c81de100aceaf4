# SPDX-License-Identifier: Apache-2.0
"""Watches series of seconds for steps, while they come in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vllm_soak.steps.bins import BIN_SECONDS, Bins
from vllm_soak.steps.change import Change, find_change
from vllm_soak.store.record import LevelStep

LATENCY_P50, LATENCY_P99, LATENCY_MEAN = "latency_p50", "latency_p99", "latency_mean"
THROUGHPUT, CPU_PER_REQUEST = "throughput", "cpu_per_request"
# Least change of each series that is told, as a share; a 99th percentile of one second is noisier.
EFFECTS = {LATENCY_P50: 0.18, LATENCY_P99: 0.5, LATENCY_MEAN: 0.18, THROUGHPUT: 0.18, CPU_PER_REQUEST: 0.18}
# Seconds left out after a pause: a queue that fills is no step.
SETTLING = 5
# A step must be found in this many bins in a row, at the same place give or take so many seconds.
CONFIRMATIONS = 2
SAME_PLACE = 2.5 * BIN_SECONDS
# Steps of several series are one when they lie this close together, in seconds.
TOGETHER = 6 * BIN_SECONDS

OnStep = Callable[[LevelStep], None]


@dataclass(slots=True)
class Track:
    """One series under watch.

    Args:
        place: Where a step was found last, in seconds.
        times: In how many bins in a row.
    """

    effect: float
    bins: Bins = field(default_factory=Bins)
    place: float = -1.0
    times: int = 0
    change: Change | None = None

    def add(self, elapsed: float, value: float) -> bool:
        """Take a second; return whether a step is certain now."""
        if not self.bins.add(elapsed, value):
            return False
        self.change = find_change(self.bins.values(), self.effect)
        if self.change is None:
            self.times = 0
            return False
        place = self.bins.bins[self.change.at].elapsed
        self.times = self.times + 1 if abs(place - self.place) <= SAME_PLACE else 1
        self.place = place
        return self.times >= CONFIRMATIONS

    def forget(self, before: float) -> None:
        """Start anew from a moment."""
        self.bins.forget(before)
        self.times, self.change = 0, None


class StepWatch:
    """Finds the moments from which a run's latency, rate or processor time a request is at another level.

    Feed it one call of `add` a second of load. Not thread-safe: one thread at a time.

    Args:
        on_step: Takes each step when it is certain, about three quarters of a minute after it happened.
        arm: Name of the arm, for the record.
        effects: Least change of each series as a share; other series are not watched.
    """

    def __init__(self, on_step: OnStep, *, arm: str = "run", effects: Mapping[str, float] | None = None) -> None:
        self._on_step = on_step
        self._arm = arm
        self._tracks = {name: Track(effect) for name, effect in (effects or EFFECTS).items()}
        self._settling = SETTLING
        self._paused = False

    def add(self, elapsed: float, requests: int, values: Mapping[str, float]) -> None:
        """Take one second of load.

        Args:
            elapsed: Seconds since the arm began.
            requests: Requests completed by then.
            values: Values of that second by series: seconds of latency, requests a second, processor seconds a
                request. One that is missing, or 0, is left out.
        """
        if self._paused:
            return
        if self._settling:
            self._settling -= 1
            return
        certain = [track.add(elapsed, values[name]) for name, track in self._tracks.items() if name in values]
        if any(certain):
            self._tell(elapsed, requests)

    def pause(self) -> None:
        """The load stops (a round is drained): what comes until `resume` says nothing."""
        self._paused = True
        for track in self._tracks.values():
            track.bins.drop_open()

    def resume(self) -> None:
        """The same load begins again; its first seconds are left out."""
        self._paused, self._settling = False, SETTLING

    def restart(self) -> None:
        """Forget what was usual: the load is another one, or the warm-up is over."""
        for track in self._tracks.values():
            track.bins = Bins()
            track.times, track.change = 0, None
        self.resume()

    def _tell(self, elapsed: float, requests: int) -> None:
        """Say a step with all the series that changed near the same place, and take what follows as usual for these.

        The others keep what they know: a tail that has risen must not hide a median that rises soon after it.
        """
        place = min(one.place for one in self._tracks.values() if one.times >= CONFIRMATIONS)
        near = {
            name: one.change
            for name, one in self._tracks.items()
            if one.change is not None and abs(one.place - place) <= TOGETHER
        }
        changes = {name: [change.before, change.after] for name, change in near.items()}
        step = LevelStep(self._arm, place, elapsed, requests, changes, in_words(near))
        for name in near:
            self._tracks[name].forget(place)
        self._on_step(step)


def in_words(changes: Mapping[str, Change]) -> str:
    """Return what changed, as a sentence without a full stop."""
    return ", ".join(
        f"{name} {'rose' if one.ratio > 1 else 'fell'} by {abs(one.ratio - 1) * 100:.0f} %"
        for name, one in changes.items()
    )
