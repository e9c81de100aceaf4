# SPDX-License-Identifier: Apache-2.0
"""Synthetic runs for the verdict's rules: shapes that leak nothing, and shapes that leak.

Every shape is a function of a random generator and a number of points, in units of `scale`: points are
ends of rounds from the start of warm-up, and what comes back is a level for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from vllm_soak.store.record import MEASURED, WARM_UP, Arm, Census, Population, Round, RunData, Sample
from vllm_soak.verdict.growth import judge_growth
from vllm_soak.verdict.lengths import Growth
from vllm_soak.verdict.series import Series

Levels = npt.NDArray[np.float64]
Shape = Callable[[np.random.Generator, int], Levels]

WARM_UP_ROUNDS = 2
ROUND = 2_000
PATH = "engine.cache"
PROCESS = "EngineCore"


def ar1(rng: np.random.Generator, points: int, keep: float = 0.7) -> Levels:
    """Noise that remembers `keep` of itself from round to round, with a standard deviation of 1."""
    levels = np.empty(points)
    levels[0] = rng.normal()
    for at in range(1, points):
        levels[at] = keep * levels[at - 1] + rng.normal() * (1 - keep**2) ** 0.5
    return levels


def random_walk(rng: np.random.Generator, points: int) -> Levels:
    """Noise that remembers everything."""
    return np.cumsum(rng.normal(size=points))


def warm_up(rng: np.random.Generator, points: int) -> Levels:
    """Fill that is over after a few rounds (time constant 1.5 rounds)."""
    return 10 * (1 - np.exp(-rounds(points) / 1.5)) + 0.2 * ar1(rng, points)


def slow_warm_up(rng: np.random.Generator, points: int) -> Levels:
    """Fill that reaches well into the measured rounds (time constant 4 rounds)."""
    return 10 * (1 - np.exp(-rounds(points) / 4)) + 0.2 * ar1(rng, points)


def steps_then_flat(rng: np.random.Generator, points: int) -> Levels:
    """Two or three jumps at random rounds."""
    jumps = np.zeros(points)
    jumps[rng.integers(1, points, size=rng.integers(2, 4))] = rng.uniform(1, 5)
    return np.cumsum(jumps) + 0.05 * ar1(rng, points)


def sawtooth(rng: np.random.Generator, points: int) -> Levels:
    """Fills for three to five rounds and is emptied; a longer period looks straight in five rounds."""
    period = rng.integers(3, 6)
    return 2.0 * ((rounds(points) + rng.integers(0, period)) % period) + 0.1 * ar1(rng, points)


def log_growth(rng: np.random.Generator, points: int) -> Levels:
    """Grows with the logarithm of the work, without end."""
    return 10 * np.log1p(rounds(points)) + 0.05 * ar1(rng, points)


def root_growth(rng: np.random.Generator, points: int) -> Levels:
    """Grows with the square root of the work, without end."""
    return 10 * np.sqrt(rounds(points)) + 0.05 * ar1(rng, points)


def filling_cache(rng: np.random.Generator, points: int) -> Levels:
    """Fills in a straight line and meets its limit in one of the first five measured rounds."""
    full = WARM_UP_ROUNDS + rng.uniform(0.5, 4.5)
    return 10 * np.minimum(rounds(points), full)


def straight(rng: np.random.Generator, points: int) -> Levels:
    """A leak without noise: one unit a round."""
    del rng
    return rounds(points)


def late_leak(rng: np.random.Generator, points: int) -> Levels:
    """A leak of one unit a round that begins within the second or third measured round."""
    return np.maximum(rounds(points) - WARM_UP_ROUNDS - rng.uniform(1.0, 2.9), 0)


def late_fill(rng: np.random.Generator, points: int) -> Levels:
    """Begins within one of the first three measured rounds, fills in a straight line for up to 4.5 rounds."""
    return np.clip(rounds(points) - WARM_UP_ROUNDS - rng.uniform(0.1, 3), 0, rng.uniform(0.5, 4.5))


def late_exponential(rng: np.random.Generator, points: int) -> Levels:
    """Begins within one of the first three measured rounds and fills with a time constant of up to 4 rounds."""
    since = _since(rng, points)
    return 10 * (1 - np.exp(-since / rng.uniform(0.5, 4)))


def late_log(rng: np.random.Generator, points: int) -> Levels:
    """Begins within one of the first three measured rounds and grows with the logarithm of the work since."""
    return 10 * np.log1p(rng.uniform(1, 20) * _since(rng, points))


def late_root(rng: np.random.Generator, points: int) -> Levels:
    """Begins within one of the first three measured rounds and grows with the square root of the work since."""
    return 10 * np.sqrt(_since(rng, points))


def late_steps(rng: np.random.Generator, points: int) -> Levels:
    """Jumps of random size in a third of all rounds, and none in warm-up."""
    jumps = rng.uniform(0, 5, points) * (rng.random(points) < 1 / 3)
    jumps[:WARM_UP_ROUNDS] = 0
    return np.cumsum(jumps)


def _since(rng: np.random.Generator, points: int) -> Levels:
    """Rounds since a random moment in the first three measured rounds; nothing before."""
    return np.maximum(rounds(points) - WARM_UP_ROUNDS - rng.uniform(0.1, 3), 0)


def rounds(points: int) -> Levels:
    """Rounds completed at each point, from 1."""
    return np.arange(1, points + 1, dtype=float)


def steps_of_an_eighth(levels: Levels) -> Levels:
    """What a list's buffer shows of its length: it is reallocated in steps of 12.5 %."""
    held = np.empty_like(levels)
    size = 0.0
    for at, needed in enumerate(levels):
        while size < needed:
            size = max(needed, size * 1.125) if size else needed
        held[at] = size
    return held


NULLS: dict[str, Shape] = {
    "AR(1) noise": ar1,
    "random walk": random_walk,
    "warm-up": warm_up,
    "slow warm-up": slow_warm_up,
    "steps then flat": steps_then_flat,
    "sawtooth": sawtooth,
    "filling cache": filling_cache,
    "log growth": log_growth,
    "root growth": root_growth,
}

# What leaks nothing and begins in the measured rounds.
LATE_NULLS: dict[str, Shape] = {
    "late filling cache": late_fill,
    "late warm-up": late_exponential,
    "late log growth": late_log,
    "late root growth": late_root,
    "steps at random": late_steps,
}


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a synthetic run.

    Args:
        lengths: `len()` after each round, from the first warm-up round.
        entry: Bytes that an entry keeps alive beyond its slot of eight bytes.
    """

    lengths: Sequence[float]
    path: str = PATH
    bound: int | None = None
    entry: float | None = None


def arm(
    in_use: Sequence[float],
    containers: Sequence[Container] = (),
    *,
    name: str = "run",
    warm_ups: int = WARM_UP_ROUNDS,
    requests: int = ROUND,
    values: dict[str, float] | None = None,
    allocated: Sequence[float] | None = None,
) -> Arm:
    """Build an arm with a sample and a census after each round; `in_use` and `allocated` have one value a round."""
    made = Arm(name)
    for index, held in enumerate(in_use):
        total = (index + 1) * requests
        phase = WARM_UP if index < warm_ups else MEASURED
        made.rounds.append(Round(name, index, phase, requests, total, 1.0, blocks=[(requests, 1.0)]))
        bytes_now = {"gc_freed": 0.0, "trim_returned": 0.0, **(values or {}), "in_use": float(held)}
        if allocated is not None:
            bytes_now["allocated"] = float(allocated[index])
        made.samples.append(Sample(name, PROCESS, 4711, phase, index, total, float(index), bytes_now))
        made.censuses.append(Census(name, PROCESS, index, total, 1000, 100, 0.1, "native"))
        made.populations.extend(population(name, index, total, one) for one in containers)
    return made


def population(name: str, index: int, total: int, container: Container) -> Population:
    """Build the row of a container at a census."""
    length = max(0, round(container.lengths[index]))
    template = container.path.replace("[0]", "[i]")
    return Population(
        name, PROCESS, index, total, container.path, template, "0" * 12, "list", length, 56 + 8 * length,
        exclusive_per_entry=container.entry, bound=container.bound,
    )  # fmt: skip


def run(*arms: Arm, status: str = "finished") -> RunData:
    """Build a run of these arms."""
    return RunData(plan={}, status=status, started="2026-01-01T00:00:00+00:00", arms=list(arms))


def growth(steps: list[float], start: int = 1000, span: int = 2000, bound: int | None = None) -> Growth:
    """A container that gains these entries in its rounds, each of `span` requests."""
    values = list(accumulate(steps, initial=float(start)))
    return Growth(Series([4000 + span * n for n in range(len(values))], values), bound, "its limit")


def rule(steps: list[float], **options: int) -> tuple[str, str] | None:
    """Outcome and rule of such a container, or None when it is no suspect."""
    found = judge_growth(growth(steps, **options))
    return (found.outcome.value, found.rule) if found else None
