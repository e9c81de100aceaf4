# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import synthetic_series as made

from vllm_soak.store.record import Arm
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict
from vllm_soak.verdict.process import judge_process

LEAK = "engine.scheduler.single_type_managers[0].new_block_ids"
MIB = 1 << 20


def lengths(step: float, points: int = 7) -> list[float]:
    return [step * n for n in range(1, points + 1)]


def verdict(arm: Arm) -> ProcessVerdict:
    return judge_process(arm, made.PROCESS)


def test_a_named_leak_explains_its_bytes() -> None:
    ids = lengths(28_000)
    found = verdict(made.arm([5e8 + 8 * n for n in ids], [made.Container(ids, LEAK)]))
    assert (found.outcome, found.rule, found.pid) == (Outcome.LEAK, "steady-growth", 4711)
    assert LEAK in found.reason
    assert found.reconciliation is not None
    assert found.reconciliation.explained == pytest.approx(1, abs=0.01)
    assert found.slope is not None
    assert found.slope.per_thousand == pytest.approx(112_000)


def test_a_list_whose_buffer_moves_in_steps_is_named_all_the_same() -> None:
    ids = lengths(28_000, 47)[-7:]
    buffer = made.steps_of_an_eighth(np.array(lengths(28_000, 47)) * 8)[-7:]
    found = verdict(made.arm([float(b) for b in 5e8 + buffer], [made.Container(ids, LEAK)]))
    assert (found.outcome, found.rule) == (Outcome.LEAK, "steady-growth")


def test_a_tiny_leak_that_bytes_do_not_show_is_still_a_leak() -> None:
    found = verdict(made.arm([5e8, 4.99e8] * 3 + [5e8], [made.Container(lengths(50))]))
    assert found.outcome is Outcome.LEAK
    assert found.suspects[0].per_request == 0.025


def test_a_leak_beside_a_larger_decoy_is_the_one_named() -> None:
    ids, fill = lengths(28_000), [9000.0, 18_000.0, 27_000.0, 36_000.0, 45_000.0, 54_000.0, 63_000.0]
    decoy = made.Container(fill, "pool.cache", bound=65_521, entry=400.0)
    arm = made.arm([5e8 + 8 * n + 408 * f for n, f in zip(ids, fill, strict=True)], [decoy, made.Container(ids, LEAK)])
    found = verdict(arm)
    assert [(s.path, s.outcome) for s in found.suspects] == [(LEAK, Outcome.LEAK), ("pool.cache", Outcome.BOUNDED)]
    assert found.outcome is Outcome.LEAK
    assert found.reconciliation is not None
    assert abs(found.reconciliation.unattributed) < 0.01 * found.reconciliation.growth


def test_a_decoy_alone_is_bounded_though_bytes_grow() -> None:
    fill = lengths(9000)
    arm = made.arm([5e8 + 408 * f for f in fill], [made.Container(fill, "pool.cache", bound=65_521, entry=400.0)])
    found = verdict(arm)
    assert (found.outcome, found.rule) == (Outcome.BOUNDED, "known-bound")


def test_bytes_that_no_container_explains_are_a_native_leak() -> None:
    found = verdict(made.arm([5e8 + MIB * n for n in range(7)]))
    assert (found.outcome, found.rule) == (Outcome.LEAK_NATIVE, "native-growth")
    assert found.suspects == []


def test_a_native_leak_behind_a_filling_cache_is_seen() -> None:
    fill = lengths(9000)
    in_use = [5e8 + 8 * f + MIB * n for n, f in enumerate(fill)]
    found = verdict(made.arm(in_use, [made.Container(fill, "pool.cache", bound=65_521)]))
    assert found.outcome is Outcome.LEAK_NATIVE


def test_no_leak_states_what_it_would_have_seen() -> None:
    found = verdict(made.arm([5e8, 5e8 + 4096, 5e8, 5e8 + 8192, 5e8 - 4096, 5e8, 5e8 + 4096]))
    assert (found.outcome, found.rule) == (Outcome.NO_LEAK, "nothing-grew")
    assert found.detectable is not None
    assert 0 < found.detectable < 4096
    assert f"{found.detectable:,.0f} resident bytes per 1,000 requests" in found.reason
    assert found.settle == ""


@pytest.mark.parametrize("rounds", [2, 3, 4])
def test_fewer_than_three_measured_rounds_settle_nothing(rounds: int) -> None:
    found = verdict(made.arm([5e8 + MIB * n for n in range(rounds)], [made.Container(lengths(28_000), LEAK)]))
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "too-few-rounds")
    assert "--rounds" in found.settle


def test_three_complete_rounds_before_a_crash_may_show_a_leak() -> None:
    ids = lengths(28_000, 6)
    arm = made.arm([5e8] * 6, [made.Container(ids, LEAK)])
    del arm.rounds[-1]
    found = verdict(arm)
    assert found.outcome is Outcome.LEAK
    assert found.suspects[0].growth == [28_000] * 3


def test_the_tail_of_a_crash_is_no_trend() -> None:
    arm = made.arm([5e8] * 6 + [9e9], [made.Container([0, 0, 0, 0, 0, 0, 10**6])])
    del arm.rounds[-1]
    assert verdict(arm).outcome is Outcome.NO_LEAK


def test_without_a_census_nothing_is_cleared() -> None:
    arm = made.arm([5e8] * 7)
    arm.censuses.clear()
    found = verdict(arm)
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "no-census")
    assert "probe" in found.settle


def test_without_a_census_bytes_still_speak() -> None:
    arm = made.arm([5e8 + MIB * n for n in range(7)])
    arm.censuses.clear()
    assert verdict(arm).outcome is Outcome.LEAK_NATIVE


def test_a_replaced_process_cannot_be_compared() -> None:
    arm = made.arm([5e8] * 7, [made.Container(lengths(28_000), LEAK)])
    arm.samples[4] = replace(arm.samples[4], pid=4712)
    found = verdict(arm)
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "restarted")


def test_an_open_question_says_what_settles_it() -> None:
    slowing = made.Container([0, 0, 90_000, 150_000, 180_000, 190_000, 195_000])
    found = verdict(made.arm([5e8] * 7, [slowing]))
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "slowing")
    assert "--max-rounds" in found.settle


def test_bytes_that_may_grow_are_an_open_question() -> None:
    found = verdict(made.arm([5e8 + MIB * n for n in range(6)]))
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "few-bytes")


def test_garbage_and_fragmentation_are_named() -> None:
    freed = verdict(made.arm([1e8] * 7, values={"gc_freed": 3.0 * MIB, "trim_returned": 30.0 * MIB}))
    assert freed.outcome is Outcome.GC_DEFERRED
    kept = verdict(made.arm([1e8] * 7, values={"trim_returned": 30.0 * MIB}))
    assert kept.outcome is Outcome.FRAGMENTATION


def test_bytes_without_a_census_of_any_value_are_survived() -> None:
    arm = made.arm([5e8] * 7)
    for sample in arm.samples:
        sample.values.clear()
    found = verdict(arm)
    assert (found.outcome, found.slope, found.detectable, found.reconciliation) == (Outcome.NO_LEAK, None, None, None)
    assert any("not measured" in spot for spot in found.blind_spots)


NOISY = [5e8, 5e8 + 6e6, 5e8 - 4e6, 5e8 + 5e6, 5e8 - 3e6, 5e8 + 7e6, 5e8 - 2e6]


def test_a_leak_that_resident_noise_hides_shows_in_allocated_bytes() -> None:
    found = verdict(made.arm(NOISY, allocated=[2e8 + 100_000 * n for n in range(7)]))
    assert (found.outcome, found.rule) == (Outcome.LEAK_NATIVE, "native-growth")
    assert found.reason.startswith("allocated bytes grew in each of 5 rounds")


def test_a_named_leak_is_reconciled_with_allocated_bytes_where_they_were_measured() -> None:
    ids = lengths(8_400)
    found = verdict(made.arm(NOISY, [made.Container(ids, LEAK)], allocated=[2e8 + 8 * n for n in ids]))
    assert found.outcome is Outcome.LEAK
    assert found.reconciliation is not None
    assert found.reconciliation.basis == "allocated"
    assert found.reconciliation.explained == pytest.approx(1, abs=0.01)


def test_allocated_bytes_that_are_missing_after_one_round_are_not_reconciled_with() -> None:
    ids = lengths(8_400)
    arm = made.arm([5e8 + 8 * n for n in ids], [made.Container(ids, LEAK)], allocated=[2e8 + 8 * n for n in ids])
    del arm.samples[4].values["allocated"]
    found = verdict(arm)
    assert found.reconciliation is not None
    assert found.reconciliation.basis == "in use"


def test_flat_allocated_bytes_sharpen_what_would_have_shown() -> None:
    found = verdict(made.arm(NOISY, allocated=[2e8, 2e8 + 512, 2e8, 2e8 + 256, 2e8, 2e8 + 512, 2e8]))
    assert found.outcome is Outcome.NO_LEAK
    assert found.detectable is not None
    assert found.detectable_allocated is not None
    assert found.detectable_allocated < found.detectable / 100
    assert "allocated bytes per 1,000 requests would have shown" in found.reason


def test_bytes_say_how_many_rounds_their_measurements_compare() -> None:
    found = verdict(made.arm([5e8 + MIB * n for n in range(4)], warm_ups=0))
    assert found.rule == "few-bytes"
    assert "4 measurements compare 3 of them" in found.reason


def test_bytes_alone_answer_for_a_server_that_was_only_watched() -> None:
    flat = made.arm([5e8 + (n % 3) * 4096 for n in range(7)], [])
    watched = replace(flat, censuses=[], engine={"driver": "attach"})
    assert (verdict(watched).outcome, verdict(watched).rule) == (Outcome.NO_LEAK, "bytes-only")
    assert "containers were not looked at" in verdict(watched).reason
    assert verdict(replace(watched, engine={"driver": "serve"})).rule == "no-census"
    grown = replace(made.arm([5e8 + n * 1e6 for n in range(7)], []), censuses=[], engine={"driver": "attach"})
    assert (verdict(grown).outcome, verdict(grown).rule) == (Outcome.LEAK_NATIVE, "bytes-grew")
    assert "one of them may be what grows" in verdict(grown).reason
    assert "VLLM_SOAK_PROBE=1" in verdict(grown).settle
    assert "no container explains it" in verdict(made.arm([5e8 + n * 1e6 for n in range(7)], [])).reason


def test_a_census_that_left_some_out_is_told_with_the_answer() -> None:
    arm = made.arm([5e8] * 7)
    assert "looked at" not in judge_process(arm, made.PROCESS).reason
    cut = "31 containers that grew less than the 200 listed were not named"
    arm.censuses[-1] = replace(arm.censuses[-1], partial=cut)
    found = judge_process(arm, made.PROCESS)
    assert found.outcome is Outcome.NO_LEAK
    assert found.reason.endswith(f"; not all of them were looked at: {cut}")


def test_a_verdict_reads_as_one_line() -> None:
    found = judge_process(made.arm([5e8] * 7), made.PROCESS)
    assert f"{found}" == f"no-leak: {found.reason}"
