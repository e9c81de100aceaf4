# SPDX-License-Identifier: Apache-2.0
"""How often the verdict's rules are wrong: false alarms on what leaks nothing, misses on what does.

Each synthetic run goes as `vllm-soak run` goes: judged after five measured rounds, then after each
further one while the answer is inconclusive, up to fifteen. Prints the table of `docs/verdict.md`:

    python benchmarks/verdict_rates.py --seeds 500
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np
import synthetic_series as made

from vllm_soak.verdict.bytes import judge_bytes
from vllm_soak.verdict.growth import judge_growth
from vllm_soak.verdict.lengths import Growth
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.series import Series

FIRST_LOOK, LAST_LOOK = 5, 15
POINTS = made.WARM_UP_ROUNDS + LAST_LOOK
BASE = 500e6
ENTRIES = 2_000.0
# What a leak has added after five measured rounds, as a share of what was in use.
LEAK = 0.03
# Standard deviation of the AR(1) noise, as a share of what is in use.
NOISES = (0.0005, 0.002, 0.005)

Judge = Callable[[Series], Outcome]


def judge_lengths(series: Series) -> Outcome:
    """What the container rules say of lengths."""
    found = judge_growth(Growth(series))
    return found.outcome if found else Outcome.NO_LEAK


def judge_named_late(series: Series) -> Outcome:
    """What they say where a census names a container once it has grown, without what it gained before."""
    quiet = next((at for at, step in enumerate(series.growth) if step > 0), 0)
    named = Series(series.requests[quiet + 1 :], series.values[quiet + 1 :])
    found = judge_growth(Growth(named, first_round=quiet + 2, idle=quiet + 1)) if named.values else None
    return found.outcome if found else Outcome.NO_LEAK


def judge_in_use(series: Series) -> Outcome:
    """What the byte rule says of bytes in use."""
    found = judge_bytes(series)
    return found.outcome if found else Outcome.NO_LEAK


def looks(levels: made.Levels, judge: Judge) -> Outcome:
    """Judge after five measured rounds, and go on while the answer is open."""
    outcome = Outcome.INCONCLUSIVE
    for measured in range(FIRST_LOOK, LAST_LOOK + 1):
        points = range(made.WARM_UP_ROUNDS - 1, made.WARM_UP_ROUNDS + measured)
        series = Series([(at + 1) * made.ROUND for at in points], [float(levels[at]) for at in points])
        outcome = judge(series)
        if outcome is not Outcome.INCONCLUSIVE:
            break
    return outcome


def lengths(shape: made.Shape, seed: int) -> made.Levels:
    """A container of that shape: whole numbers, never negative."""
    levels = ENTRIES * (20 + shape(np.random.default_rng(seed), POINTS))
    return np.maximum(np.floor(levels), 0)


def in_use(shape: made.Shape, seed: int, noise: float) -> made.Levels:
    """Bytes in use: a base, AR(1) noise of that share of it, and the shape in units of the noise."""
    rng = np.random.default_rng(seed)
    return BASE * (1 + noise * (made.ar1(rng, POINTS) + shape(rng, POINTS)))


def leaking_bytes(rng: np.random.Generator, noise: float) -> made.Levels:
    """A base, AR(1) noise, and a straight leak of 3 % of the base in five rounds."""
    return BASE * (1 + noise * made.ar1(rng, POINTS) + LEAK / FIRST_LOOK * made.rounds(POINTS))


def slow_leak(rng: np.random.Generator, each: int) -> made.Levels:
    """One entry per `each` requests, at random."""
    return np.cumsum(rng.poisson(made.ROUND / each, POINTS)).astype(float)


def beneath_waves(rng: np.random.Generator, widest: float, leak: float) -> made.Levels:
    """Any number of requests in flight up to `widest` times 20, and a leak of `leak` times 20 a round."""
    in_flight = np.floor(rng.uniform(0, 20 * widest, POINTS))
    return in_flight + np.floor(20 * leak * made.rounds(POINTS))


def few_entries(rng: np.random.Generator) -> made.Levels:
    """Entries at random, at a rate that falls as 1/n: logarithmic growth in small numbers."""
    return np.cumsum(rng.poisson(30 / made.rounds(POINTS))).astype(float)


def line(name: str, outcomes: list[Outcome], alarm: Outcome) -> str:
    """One row: share of alarms, of open answers, and of the rest."""
    count = Counter(outcomes)
    share = [100 * n / len(outcomes) for n in (count[alarm], count[Outcome.INCONCLUSIVE])]
    return f"| {name} | {share[0]:.1f} | {share[1]:.1f} | {100 - sum(share):.1f} |"


def head(title: str, alarm: Outcome) -> str:
    """The head of a table."""
    return f"\n| {title} | `{alarm.value}` % | `inconclusive` % | other % |\n|---|---|---|---|"


def print_containers(seeds: int) -> None:
    """Print the table of the container rules."""
    print(head("container", Outcome.LEAK))
    for name, shape in made.NULLS.items():
        print(line(name, [looks(lengths(shape, s), judge_lengths) for s in range(seeds)], Outcome.LEAK))
    for name, shape in made.LATE_NULLS.items():
        print(line(name, [looks(lengths(shape, s), judge_named_late) for s in range(seeds)], Outcome.LEAK))
    few = [looks(few_entries(np.random.default_rng(s)), judge_lengths) for s in range(seeds)]
    print(line("log growth, few entries at random", few, Outcome.LEAK))
    leaks = [looks(lengths(made.straight, s), judge_lengths) for s in range(seeds)]
    print(line("leak: 1 entry a request", leaks, Outcome.LEAK))
    late = [looks(lengths(made.late_leak, s), judge_named_late) for s in range(seeds)]
    print(line("leak: 1 entry a request, begins late", late, Outcome.LEAK))
    for widest in (1, 2, 3):
        hidden = [looks(beneath_waves(np.random.default_rng(s), widest, 1), judge_lengths) for s in range(seeds)]
        print(line(f"leak beneath waves {widest} times its growth", hidden, Outcome.LEAK))
    waves = [looks(beneath_waves(np.random.default_rng(s), 3, 0), judge_lengths) for s in range(seeds)]
    print(line("waves without a leak", waves, Outcome.LEAK))
    for each in (100, 20):
        slow = [looks(slow_leak(np.random.default_rng(s), each), judge_lengths) for s in range(seeds)]
        print(line(f"leak: 1 entry per {each} requests, at random", slow, Outcome.LEAK))


def print_bytes(seeds: int) -> None:
    """Print the table of the byte rule; null shapes are in units of the noise, so one level does."""
    print(head("bytes in use", Outcome.LEAK_NATIVE))
    for name, shape in made.NULLS.items():
        outcomes = [looks(in_use(shape, s, NOISES[1]), judge_in_use) for s in range(seeds)]
        print(line(name, outcomes, Outcome.LEAK_NATIVE))
    for noise in NOISES:
        leaks = [looks(leaking_bytes(np.random.default_rng(s), noise), judge_in_use) for s in range(seeds)]
        name = f"leak: {LEAK:.0%} in {FIRST_LOOK} rounds, noise {noise:.2%}"
        print(line(name, leaks, Outcome.LEAK_NATIVE))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="synthetic runs of each shape")
    seeds = parser.parse_args().seeds
    print_containers(seeds)
    print_bytes(seeds)


if __name__ == "__main__":
    main()
