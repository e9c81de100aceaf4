# SPDX-License-Identifier: Apache-2.0
"""vllm-soak's own answer from its adapter's records: the verdict that `vllm-soak run` would give after each round."""

from __future__ import annotations

from typing import Any

from rivals.evidence import best, conclusive, place
from vllm_soak.engines.census_rows import population
from vllm_soak.store.record import MEASURED, WARM_UP, Arm, Census, Population, Round, Sample
from vllm_soak.verdict.outcome import Outcome, Suspect
from vllm_soak.verdict.process import judge_process

NAME = "run"
# Worst first, as a report lists them.
ORDER = (Outcome.LEAK, Outcome.INCONCLUSIVE, Outcome.BOUNDED)


def judged(records: list[dict[str, Any]]) -> dict[str, Any]:
    """A phase's result from the records of its rounds: what a reader would have been told after each."""
    readings = [reading(records[: count + 1]) for count in range(1, len(records))]
    last = answer(records)
    suspects = [(one.outcome.value, one.path, one.bytes_per_entry, one.per_request) for one in last]
    done = [row["requests"] for row in readings if row["rank"] == 1]
    # The tool says itself when it is sure: `leak` takes three rounds.
    return {
        "named": best(readings),
        "conclusive": done[0] if done else conclusive(readings),
        "readings": readings,
        "suspects": suspects,
        "leaks": [path for outcome, path, _, _ in suspects if outcome == Outcome.LEAK.value],
    }


def reading(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The verdict on a run's first rounds; only containers that it calls a leak count as findings."""
    found = [f"{one.outcome.value}: {one.path}" for one in answer(records) if one.outcome is Outcome.LEAK]
    what, rank = place(found, [])
    row = {"requests": records[-1]["requests"], "named": what, "rank": rank, "findings": len(found)}
    return row | {"top": found[:3], "own": found[rank - 1] if rank else ""}


def answer(records: list[dict[str, Any]]) -> list[Suspect]:
    """The suspects of a run, in the order of a report."""
    arm = arm_of(records)
    suspects = judge_process(arm, records[0]["process"]).suspects
    return sorted(suspects, key=lambda one: ORDER.index(one.outcome) if one.outcome in ORDER else len(ORDER))


def arm_of(records: list[dict[str, Any]]) -> Arm:
    """Records as the arm that a run's store would hold; the first one is the end of warm-up."""
    arm = Arm(NAME)
    before = 0
    for index, record in enumerate(records):
        phase, requests = (MEASURED if index else WARM_UP), record["requests"]
        arm.rounds.append(Round(NAME, index, phase, requests - before, requests, 1.0))
        before = requests
        arm.samples.append(
            Sample(NAME, record["process"], 1, phase, index, requests, float(index), values=record["values"])
        )
        arm.censuses.append(census_of(record, index))
        arm.populations.extend(populations_of(record, index))
    return arm


def census_of(record: dict[str, Any], index: int) -> Census:
    """One walk's row."""
    counts = {name: record["census"][name] for name in ("objects", "containers", "seconds", "walker", "partial")}
    return Census(arm=NAME, process=record["process"], round=index, requests=record["requests"], **counts)


def populations_of(record: dict[str, Any], index: int) -> list[Population]:
    """One walk's containers."""
    where = {"arm": NAME, "process": record["process"], "round": index, "requests": record["requests"]}
    return [population(row, where) for row in record["census"]["populations"]]
