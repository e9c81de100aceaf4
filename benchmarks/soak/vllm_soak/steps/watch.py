# SPDX-License-Identifier: Apache-2.0
"""Watches series of seconds for steps, while they come in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vllm_soak.steps.bins import BIN_SECONDS
from vllm_soak.steps.change import Change
from vllm_soak.steps.crowd import Crowd
from vllm_soak.steps.series import EFFECTS
from vllm_soak.steps.track import Track
from vllm_soak.store.outside import LevelStep

# Seconds left out after a pause: a queue that fills is no step.
SETTLING = 5
# Steps of several series are one when they lie this close together, in seconds.
TOGETHER = 6 * BIN_SECONDS

OnStep = Callable[[LevelStep], None]
Explain = Callable[[LevelStep, bool | None], LevelStep]


def as_it_is(step: LevelStep, _alike: bool | None) -> LevelStep:
    """Explain nothing."""
    return step


class StepWatch:
    """Finds the moments from which a run's latency, rate or processor time a request is at another level.

    Feed it one call of `add` a second of load. Not thread-safe: one thread at a time.

    Args:
        on_step: Takes each step when it is certain, about three quarters of a minute after it happened.
        arm: Name of the arm, for the record.
        effects: Least change of each series as a share; other series are not watched.
        explain: Adds what else changed at a step, and whether others on the machine account for it. Its second
            argument: whether the step shows among seconds in which others were in the way about as much, None where
            there are too few of these.
    """

    def __init__(
        self,
        on_step: OnStep,
        *,
        arm: str = "run",
        effects: Mapping[str, float] | None = None,
        explain: Explain = as_it_is,
    ) -> None:
        self._on_step = on_step
        self._arm = arm
        self._explain = explain
        self._tracks = {name: Track(effect) for name, effect in (effects or EFFECTS).items()}
        self._settling = SETTLING
        self._paused = False

    def add(self, elapsed: float, requests: int, values: Mapping[str, float], crowd: Crowd | None = None) -> None:
        """Take one second of load.

        Args:
            elapsed: Seconds since the arm began.
            requests: Requests completed by then.
            values: Values of that second by series: seconds of latency, requests a second, processor seconds a
                request. One that is missing, or 0, is left out.
            crowd: How much others on the machine were in the way in it, None where that is not known.
        """
        if self._paused:
            return
        if self._settling:
            self._settling -= 1
            return
        certain = [track.add(elapsed, values[name], crowd) for name, track in self._tracks.items() if name in values]
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
        self._tracks = {name: Track(track.effect) for name, track in self._tracks.items()}
        self.resume()

    def _tell(self, elapsed: float, requests: int) -> None:
        """Say a step with all the series that changed near the same place, and take what follows as usual for these.

        The others keep what they know: a tail that has risen must not hide a median that rises soon after it.
        """
        place = min(one.place for one in self._tracks.values() if one.certain)
        near = {
            name: one
            for name, one in self._tracks.items()
            if one.change is not None and abs(one.place - place) <= TOGETHER
        }
        changes = {name: one.change for name, one in near.items() if one.change is not None}
        levels = {name: [change.before, change.after] for name, change in changes.items()}
        step = LevelStep(self._arm, place, elapsed, requests, levels, in_words(changes))
        told = self._explain(step, together([one.alike for one in near.values()]))
        for one in near.values():
            one.forget(place, keep=bool(told.contention))
        self._on_step(told)


def together(alike: list[bool | None]) -> bool | None:
    """Return whether any of the series shows the step among seconds that are alike; None where none tells."""
    return True if True in alike else False if False in alike else None


def in_words(changes: Mapping[str, Change]) -> str:
    """Return what changed, as a sentence without a full stop."""
    return ", ".join(
        f"{name} {'rose' if one.ratio > 1 else 'fell'} by {abs(one.ratio - 1) * 100:.0f} %"
        for name, one in changes.items()
    )
