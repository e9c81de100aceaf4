# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic_series as made

from vllm_soak.store.record import PatchRow
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.suspects import judge_containers

LEAK = "engine.scheduler.single_type_managers[0].new_block_ids"


def test_a_suspect_carries_what_the_report_needs() -> None:
    lengths = [28_000 * n for n in range(1, 8)]
    arm = made.arm([5e8] * 7, [made.Container(lengths, LEAK, entry=2.5)])
    arm.patches.append(PatchRow("run", made.PROCESS, "new-block-ids", "disabled", ""))
    [(found, finding, series)] = judge_containers(arm, made.PROCESS)
    assert (found.outcome, found.rule) == (Outcome.LEAK, finding.rule)
    assert (found.growth, found.requests) == ([28_000] * 5, [2000] * 5)
    assert (found.length_first, found.length_last) == (56_000, 196_000)
    assert found.per_request == 14.0
    assert found.bytes_per_entry == pytest.approx(8 + 56 / 196_000 + 2.5)
    assert found.bytes_per_request == pytest.approx(14 * found.bytes_per_entry)
    assert (found.known_defect, found.patch_status, found.affected) == ("new-block-ids", "disabled", "0.17.1-0.25.1")
    assert series.total == 140_000


def test_leaks_come_first_then_open_questions_then_caches() -> None:
    rounds = range(1, 8)
    containers = [
        made.Container([50_000 * n for n in rounds], "cache", bound=10**6),
        made.Container([0, 0, 90_000, 150_000, 180_000, 190_000, 195_000], "slowing"),
        made.Container([10 * n for n in rounds], "small", entry=1.0),
        made.Container([10 * n for n in rounds], "large", entry=1000.0),
        made.Container([10 * n for n in rounds], "aaa", entry=1.0),
        made.Container([7] * 7, "flat"),
    ]
    judged = judge_containers(made.arm([5e8] * 7, containers), made.PROCESS)
    assert [one[0].path for one in judged] == ["large", "aaa", "small", "slowing", "cache"]


def test_an_empty_container_has_no_bytes_per_entry() -> None:
    arm = made.arm([5e8] * 7, [made.Container([100, 100, 80, 60, 40, 20, 0])])
    assert judge_containers(arm, made.PROCESS) == []


def test_bytes_of_entries_that_were_not_measured_are_a_lower_bound() -> None:
    rounds = range(1, 8)
    measured = made.Container([100 * n for n in rounds], "measured", entry=0.0)
    unknown = made.Container([100 * n for n in rounds], "unknown")
    judged = judge_containers(made.arm([5e8] * 7, [measured, unknown]), made.PROCESS)
    assert {one[0].path: one[0].bytes_at_least for one in judged} == {"measured": False, "unknown": True}


@pytest.mark.parametrize("age", [5.5, 6.9, 6.99, 8.9, 9.95, 13.95])
def test_a_cache_that_is_emptied_by_age_is_no_leak_when_its_age_ends_within_the_last_round(age: float) -> None:
    """Rounds of a second each: after each from the fifth measured one on, as a run looks."""
    outcomes = []
    for rounds in range(7, 18):
        lengths = [2000 * min(n, age) for n in range(1, rounds + 1)]
        arm = made.arm([5e8] * rounds, [made.Container(lengths)])
        arm.populations[:] = [replace(row, age=age, age_name="Sessions.ttl") for row in arm.populations]
        outcomes += [one.outcome for one, _, _ in judge_containers(arm, made.PROCESS)]
    assert Outcome.LEAK not in outcomes
    assert outcomes[-1] is Outcome.BOUNDED


def test_what_outgrows_such_an_age_is_a_leak() -> None:
    arm = made.arm([5e8] * 8, [made.Container([2000 * n for n in range(1, 9)])])
    arm.populations[:] = [replace(row, age=6.5, age_name="Sessions.ttl") for row in arm.populations]
    assert [one.outcome for one, _, _ in judge_containers(arm, made.PROCESS)] == [Outcome.LEAK]
