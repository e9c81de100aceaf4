# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic_series as made

from vllm_soak.store.record import Arm
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.reconcile import cycles, fragmentation, gc_deferred, measured_samples, named_bytes, reconcile
from vllm_soak.verdict.series import byte_series
from vllm_soak.verdict.suspects import judge_containers

MIB = 1 << 20


def named(arm: Arm) -> list[float]:
    return named_bytes(judge_containers(arm, made.PROCESS), byte_series(arm, made.PROCESS))


def test_growth_is_what_is_named_and_what_is_not() -> None:
    lengths = [28_000 * n for n in range(1, 8)]
    arm = made.arm(
        [5e8 + 10 * n for n in lengths], [made.Container(lengths)], values={"gc_freed": 100.0, "trim_returned": 7.0}
    )
    found = reconcile(arm, made.PROCESS, byte_series(arm, made.PROCESS), named(arm))
    assert found is not None
    assert found.growth == 140_000 * 10
    assert found.named == pytest.approx(140_000 * 8, rel=1e-3)
    assert found.unattributed == found.growth - found.named
    assert (found.gc_freed, found.trim_returned) == (500.0, 35.0)
    assert found.explained == pytest.approx(0.8, rel=1e-3)


def test_no_growth_is_explained_by_nothing() -> None:
    arm = made.arm([5e8] * 7)
    found = reconcile(arm, made.PROCESS, byte_series(arm, made.PROCESS), named(arm))
    assert found is not None
    assert found.explained is None


def test_one_point_has_no_growth() -> None:
    arm = made.arm([5e8])
    assert reconcile(arm, made.PROCESS, byte_series(arm, made.PROCESS), named(arm)) is None


def test_a_container_inside_another_is_counted_once() -> None:
    lengths = [1000 * n for n in range(1, 8)]
    outer = made.Container(lengths, "engine.store", entry=500.0)
    inner = made.Container(lengths, "engine.store['a'].items")
    beside = made.Container(lengths, "engine.store_b")
    assert named(made.arm([5e8] * 7, [outer, inner])) == named(made.arm([5e8] * 7, [outer]))
    assert named(made.arm([5e8] * 7, [outer, beside]))[-1] > named(made.arm([5e8] * 7, [outer]))[-1]


def garbage(name: str, value: float, in_use: list[float] | None = None) -> tuple[Outcome | None, Outcome | None]:
    arm = made.arm(in_use or [1e8] * 7, values={name: value})
    samples, series = measured_samples(arm, made.PROCESS), byte_series(arm, made.PROCESS)
    freed, returned = gc_deferred(samples, series), fragmentation(samples, series)
    return freed.outcome if freed else None, returned.outcome if returned else None


def test_garbage_of_every_round_is_gc_deferred() -> None:
    assert garbage("gc_freed", 2 * MIB) == (Outcome.GC_DEFERRED, None)
    assert garbage("gc_freed", MIB - 1) == (None, None)


@pytest.mark.parametrize(("objects", "freed"), [(0.0, None), (40.0, Outcome.GC_DEFERRED)])
def test_memory_that_falls_in_a_collection_without_garbage_was_the_allocators(
    objects: float, freed: Outcome | None
) -> None:
    values = {"gc_freed": 2.0 * MIB, "gc_objects": objects, "trim_returned": 30.0 * MIB}
    arm = made.arm([1e8] * 7, values=values)
    samples, series = measured_samples(arm, made.PROCESS), byte_series(arm, made.PROCESS)
    found = gc_deferred(samples, series)
    assert (found.outcome if found else None) == freed
    assert fragmentation(samples, series) is not None


def test_what_a_trim_returns_after_every_round_is_fragmentation() -> None:
    assert garbage("trim_returned", 20 * MIB) == (None, Outcome.FRAGMENTATION)
    assert garbage("trim_returned", MIB - 1, [MIB] * 7) == (None, None)


def test_an_allocators_usual_reserve_is_not() -> None:
    assert garbage("trim_returned", 20 * MIB, [5e8] * 7) == (None, None)


def test_what_stayed_must_not_be_more_than_what_went() -> None:
    growing = [1e8 + 3 * MIB * n for n in range(7)]
    assert garbage("gc_freed", 2 * MIB, growing) == (None, None)


def test_one_burst_is_not_every_round() -> None:
    arm = made.arm([1e8] * 7)
    arm.samples[4].values["gc_freed"] = 100.0 * MIB
    assert gc_deferred(measured_samples(arm, made.PROCESS), byte_series(arm, made.PROCESS)) is None


def with_garbage(*rings: tuple[str, int]) -> Arm:
    arm = made.arm([1e8] * 7, values={"gc_freed": 2.0 * MIB})
    rows = [{"ring": ring, "count": count, "objects": 9} for ring, count in rings]
    arm.samples[:] = [replace(one, garbage=rows) for one in arm.samples]
    return arm


def test_rings_are_counted_over_the_measured_rounds_and_the_first_is_named() -> None:
    arm = with_garbage(("Node.next -> Node", 10), ("Request.hasher -> partial.args[i] -> Request", 2000))
    samples, series = measured_samples(arm, made.PROCESS), byte_series(arm, made.PROCESS)
    found = cycles(samples, series)
    assert [(one.ring, one.count, one.per_request) for one in found] == [
        ("Request.hasher -> partial.args[i] -> Request", 10_000, 1.0),
        ("Node.next -> Node", 50, 0.005),
    ]
    finding = gc_deferred(samples, series)
    assert finding is not None
    assert finding.reason.endswith(": Request.hasher -> partial.args[i] -> Request (1 a request)")


def test_without_rings_only_bytes_are_told() -> None:
    arm = with_garbage()
    finding = gc_deferred(measured_samples(arm, made.PROCESS), byte_series(arm, made.PROCESS))
    assert finding is not None
    assert finding.reason.endswith("bytes a request")
