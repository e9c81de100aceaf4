# SPDX-License-Identifier: Apache-2.0
"""Gives points to a step watch in the order in which they come, live or out of a run's store."""

from __future__ import annotations

from collections.abc import Iterable

from vllm_soak.steps.surroundings import Surroundings
from vllm_soak.steps.watch import StepWatch
from vllm_soak.store.outside import CLIENT, HOST, TREE, LevelStep, Point

# Seconds without a second of load that are taken for a pause when stored points are read again.
PAUSE_SECONDS = 3.0


class Feed:
    """Passes seconds of load to the watch, and readings of the machine and the target to the surroundings.

    Args:
        watch: Takes the seconds.
        surroundings: Takes the readings.
    """

    def __init__(self, watch: StepWatch, surroundings: Surroundings) -> None:
        self.watch = watch
        self.surroundings = surroundings

    def take(self, point: Point) -> None:
        """Take one point; those that are about neither are left out."""
        if point.process in {HOST, TREE}:
            self.surroundings.add(point.elapsed, point.values)
        elif point.process == CLIENT:
            self.watch.add(point.elapsed, point.requests, point.values, self.surroundings.crowd(point.elapsed))


def replay(points: Iterable[Point], after: float = 0.0) -> list[LevelStep]:
    """Return the steps that a watch tells of stored points.

    Pauses of the load are not stored; a gap between two seconds of load is taken for one.

    Args:
        points: Points of one arm, as a run's store has them.
        after: Seconds of load up to here are left out: the warm-up.
    """
    steps: list[LevelStep] = []
    surroundings = Surroundings()
    feed = Feed(StepWatch(steps.append, explain=surroundings.explain), surroundings)
    last = None
    for point in sorted(points, key=lambda one: one.elapsed):
        if point.process == CLIENT:
            if point.elapsed < after:
                continue
            if last is not None and point.elapsed - last > PAUSE_SECONDS:
                feed.watch.pause()
                feed.watch.resume()
            last = point.elapsed
        feed.take(point)
    return steps
