# SPDX-License-Identifier: Apache-2.0
"""How often steps are told where there are none, and how soon where there is one.

Series of seconds are made up with the noises that small machines have, given to the same watch that a run uses, and
counted: steady runs of a quarter of an hour that were told a step, steps of a given size that were found within a
minute, and the time that it took. In the last rows the watch is also told how long the server waited for a core, as
the sampler reads it. `--recorded FILE` adds a real series: the `seconds.csv` of a capture, or lines
`seconds,latency` of one's own; blocks of it are put together anew for each run.

    python benchmarks/step_rates.py [--runs 200] [--recorded FILE]
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vllm_soak.steps.series import CPU_PER_REQUEST, LATENCY_P50, LATENCY_P99, THROUGHPUT
from vllm_soak.steps.surroundings import Surroundings
from vllm_soak.steps.watch import StepWatch
from vllm_soak.store.record import LevelStep

SECONDS = 900
STEP_AT = 400
WITHIN = 60.0
CLIENTS = 64
LATENCY = 0.27
RISES = (0.2, 0.3, 0.5)
# Seconds of a recorded series that stay together when a run is made of it.
BLOCK = 60

Noise = Callable[[np.random.Generator], np.ndarray]


def white(spread: float) -> Noise:
    """Independent seconds."""
    return lambda rng: rng.normal(0, spread, SECONDS)


def wandering(spread: float, memory: float) -> Noise:
    """Seconds that resemble the ones before: a first-order autoregression with a given spread in the long run."""

    def make(rng: np.random.Generator) -> np.ndarray:
        shocks = rng.normal(0, spread * np.sqrt(1 - memory**2), SECONDS)
        series = np.empty(SECONDS)
        series[0] = rng.normal(0, spread)
        for at in range(1, SECONDS):
            series[at] = memory * series[at - 1] + shocks[at]
        return series

    return make


def stalls(rng: np.random.Generator) -> np.ndarray:
    """White noise, and about once a minute one to four seconds at twice the latency: collections, log rotation."""
    series = rng.normal(0, 0.05, SECONDS)
    for at in np.flatnonzero(rng.random(SECONDS) < 1 / 60):
        series[at : at + rng.integers(1, 5)] += np.log(2)
    return series


def periodic(rng: np.random.Generator) -> np.ndarray:
    """White noise, and every 20 seconds three seconds half as slow again."""
    return rng.normal(0, 0.05, SECONDS) + np.log(1.5) * (np.arange(SECONDS) % 20 < 3)


def neighbours(rng: np.random.Generator) -> np.ndarray:
    """White noise, and now and then five to fifteen seconds in which others take a quarter of the machine."""
    series = rng.normal(0, 0.05, SECONDS)
    for at in np.flatnonzero(rng.random(SECONDS) < 1 / 45):
        series[at : at + rng.integers(5, 16)] += np.log(1.25)
    return series


def busy_neighbours(rng: np.random.Generator) -> np.ndarray:
    """White noise, and now and then half a minute in which others take half of the machine: latency doubles."""
    series = rng.normal(0, 0.05, SECONDS)
    for at in np.flatnonzero(rng.random(SECONDS) < 1 / 90):
        series[at : at + rng.integers(20, 41)] = rng.normal(np.log(2), 0.1)
    return series


def waits(logs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Seconds a second that the server waited for a core, where others on the machine make it slow: noisy."""
    return np.maximum(0.0, 0.08 + 0.6 * np.maximum(logs, 0) + rng.normal(0, 0.03, len(logs)))


def drifting(rng: np.random.Generator) -> np.ndarray:
    """A fifth slower over a quarter of an hour, without a step."""
    return rng.normal(0, 0.05, SECONDS) + np.linspace(0, np.log(1.2), SECONDS)


def recorded(file: Path) -> Noise:
    """Blocks of a real series, in random order, around its median."""
    with file.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row.get(LATENCY_P50)]
    logs = np.log([float(row[LATENCY_P50]) for row in rows])
    logs -= np.median(logs)

    def make(rng: np.random.Generator) -> np.ndarray:
        starts = rng.integers(0, max(len(logs) - BLOCK, 1), SECONDS // BLOCK + 1)
        return np.concatenate([logs[at : at + BLOCK] for at in starts])[:SECONDS]

    return make


NOISES: dict[str, Noise] = {
    "white, 5 %": white(0.05),
    "white, 15 %": white(0.15),
    "wandering, 5 %, 10 s": wandering(0.05, 0.9),
    "wandering, 5 %, 50 s": wandering(0.05, 0.98),
    "wandering, 10 %, 10 s": wandering(0.10, 0.9),
    "stalls": stalls,
    "every 20 s": periodic,
    "neighbours": neighbours,
    "busy neighbours": busy_neighbours,
    "drift": drifting,
}


def watch(logs: np.ndarray, rng: np.random.Generator, waited: np.ndarray | None = None) -> list[LevelStep]:
    """Give a series of log latencies to a watch, as a closed loop would show them, and return what it told.

    What it told of others on the machine is left out.
    """
    told: list[LevelStep] = []
    around = Surroundings()
    one = StepWatch(told.append, explain=around.explain)
    latency = LATENCY * np.exp(logs)
    tail = latency * np.exp(np.abs(rng.normal(0.35, 0.2, len(logs))))
    for second, (middle, high) in enumerate(zip(latency, tail, strict=True)):
        rate = CLIENTS / middle
        cores = 1.3 * np.exp(rng.normal(0, 0.03)) / rate
        values = {LATENCY_P50: middle, LATENCY_P99: high, THROUGHPUT: rate, CPU_PER_REQUEST: cores}
        if waited is not None:
            around.add(float(second), {"main_wait": waited[second], "others_cores": 2 * waited[second]})
        one.add(float(second), second, values, around.crowd(float(second)))
    return [step for step in told if not step.contention]


def rates(noise: Noise, runs: int, *, known: bool = False) -> tuple[int, dict[float, list[float | None]]]:
    """Return how many steady runs were told a step, and by rise the seconds until it was told (None: not in time)."""
    false = 0
    delays: dict[float, list[float | None]] = {rise: [] for rise in RISES}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        steady = noise(rng)
        waited = waits(steady, rng) if known else None
        false += bool(watch(steady, rng, waited))
        for rise, found in delays.items():
            found.append(delay(steady + np.log1p(rise) * (np.arange(SECONDS) >= STEP_AT), rng, waited))
    return false, delays


def delay(logs: np.ndarray, rng: np.random.Generator, waited: np.ndarray | None = None) -> float | None:
    """Return the seconds from the step until it was told, None when that was not within a minute."""
    told = watch(logs[: STEP_AT + int(WITHIN) + 1], rng, waited)
    after = [one.seen - STEP_AT for one in told if one.seen >= STEP_AT]
    return after[0] if after else None


def row(name: str, false: int, delays: dict[float, list[float | None]], runs: int) -> str:
    """Return one line of the table."""
    cells = [f"{false}/{runs}"]
    for found in delays.values():
        hits = [one for one in found if one is not None]
        cells.append(f"{len(hits)}/{runs}" + (f" {np.median(hits):.0f} s" if hits else ""))
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--recorded", type=Path, action="append", default=[])
    options = parser.parse_args()
    noises = NOISES | {f"recorded: {file.stem}": recorded(file) for file in options.recorded}
    found = " | ".join(f"+{rise:.0%} found in {WITHIN:.0f} s" for rise in RISES)
    print(f"| noise | steady runs told a step | {found} |")
    print("|---|---:|" + "---:|" * len(RISES))
    for name, noise in noises.items():
        print(row(name, *rates(noise, options.runs), options.runs), flush=True)
    for noise in (neighbours, busy_neighbours):
        name = f"{noise.__name__.replace('_', ' ')}, waiting known"
        print(row(name, *rates(noise, options.runs, known=True), options.runs), flush=True)


if __name__ == "__main__":
    main()
