# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.report.measure import throughput
from vllm_soak.store.outside import HOST, Point
from vllm_soak.store.record import MEASURED, WARM_UP, Arm, Round
from vllm_soak.verdict.forecast import CONTROL_GROUP, MACHINE, Room, forecast, hours_until, room_left
from vllm_soak.verdict.outcome import ArmVerdict, Outcome, ProcessVerdict, Slope, Suspect

GIB = 1024.0**3
RATE = 150.0


def arm(**host: float) -> Arm:
    """Five measured rounds at 150 requests/s, and one look at the machine."""
    rounds = [Round("run", i, MEASURED if i else WARM_UP, 6000, 6000 * (i + 1), 40.0 if i else 90.0) for i in range(6)]
    return Arm("run", rounds=rounds, points=[Point("run", 1.0, HOST, 0, 100, host)] if host else [])


def leaking(per_thousand: float, margin: float = 0.0, name: str = "EngineCore") -> ProcessVerdict:
    slope = Slope(per_thousand, per_thousand - margin, per_thousand + margin, 6)
    return ProcessVerdict(name, 1, Outcome.LEAK, "", "", slope=slope, detectable=11_000.0)


def verdict(*processes: ProcessVerdict, outcome: Outcome = Outcome.LEAK) -> ArmVerdict:
    return ArmVerdict("run", outcome, "", list(processes))


def suspect(bytes_per_request: float) -> Suspect:
    return Suspect("EngineCore", "a", "a", "f", "list", [], 0, 1, [1], [1], 14.0, 8.0, bytes_per_request, Outcome.LEAK,
                   "", "")  # fmt: skip


def test_the_time_to_the_limit_is_what_is_left_over_bytes_a_second() -> None:
    # 1,000 bytes a request at 150 requests/s are 150 kB/s: 5.4 GB in ten hours.
    found = forecast(arm(cgroup_max=6.4e9, cgroup_current=1.0e9, mem_available=9e9), verdict(leaking(1e6, 1e5)))
    assert found is not None
    assert found.room is not None
    assert (found.room.of, found.rate) == (CONTROL_GROUP, RATE)
    assert found.hours == pytest.approx(10.0)
    assert found.soonest == pytest.approx(10.0 / 1.1)
    assert found.latest == pytest.approx(10.0 / 0.9)


def test_the_rate_is_that_of_the_reports_table() -> None:
    uneven = [Round("run", 0, MEASURED, 100, 100, 1.0), Round("run", 1, MEASURED, 100, 200, 3.0)]
    found = forecast(Arm("run", rounds=uneven), verdict(leaking(1e6)))
    assert found is not None
    assert found.rate == throughput(uneven) == 50.0


@given(st.floats(1.0, 1e7), st.floats(0.0, 0.99), st.floats(1e6, 1e13), st.floats(1e6, 1e13))
def test_the_interval_holds_the_forecast_and_more_room_is_never_sooner(
    per_thousand: float, share: float, left: float, more: float
) -> None:
    process = leaking(per_thousand, share * per_thousand)
    found = forecast(arm(mem_available=left), verdict(process))
    roomier = forecast(arm(mem_available=left + more), verdict(process))
    assert found is not None
    assert roomier is not None
    assert found.soonest is not None
    assert found.hours is not None
    assert found.latest is not None
    assert 0 < found.soonest <= found.hours * (1 + 1e-9) <= found.latest * (1 + 2e-9)
    assert roomier.hours is not None
    assert roomier.hours >= found.hours


@given(st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(0.0, 0.9)), min_size=1, max_size=5))
def test_several_leaking_processes_fill_one_machine_together(found: list[tuple[float, float]]) -> None:
    processes = [leaking(rate, share * rate, f"p{at}") for at, (rate, share) in enumerate(found)]
    together = forecast(arm(mem_available=GIB), verdict(*processes))
    assert together is not None
    assert together.per_request == pytest.approx(sum(rate for rate, _ in found) / 1000)
    assert together.low is not None
    assert together.high is not None
    # Margins of independent slopes: no wider than their sum, no narrower than the widest.
    margins = [share * rate / 1000 for rate, share in found]
    margin = together.high - together.per_request
    assert max(margins) * (1 - 1e-6) - 1e-9 <= margin <= sum(margins) * (1 + 1e-6) + 1e-9


@given(
    st.sampled_from([Outcome.NO_LEAK, Outcome.BOUNDED, Outcome.FRAGMENTATION, Outcome.GC_DEFERRED]), st.floats(1.0, 1e6)
)
def test_what_is_no_leak_has_no_end_however_its_slope_is(outcome: Outcome, rate: float) -> None:
    process = ProcessVerdict("p", 1, outcome, "", "", slope=Slope(rate, rate / 2, rate * 2, 6), detectable=11_000.0)
    found = forecast(arm(mem_available=GIB), verdict(process, outcome=outcome))
    assert found is not None
    assert (found.hours, found.per_request, found.detectable, found.settled) == (None, None, 11.0, True)


def test_a_leak_below_the_noise_of_bytes_is_forecast_from_its_containers() -> None:
    process = ProcessVerdict("p", 1, Outcome.LEAK, "", "", suspects=[suspect(112.0)], slope=Slope(50.0, -900.0, 1e3, 6))
    found = forecast(arm(mem_available=112.0 * RATE * 3600), verdict(process))
    assert found is not None
    assert found.hours == pytest.approx(1.0)
    assert (found.low, found.high, found.soonest, found.latest) == (None, None, None, None)


def test_an_open_verdict_gives_an_open_forecast() -> None:
    grew = ProcessVerdict("p", 1, Outcome.INCONCLUSIVE, "", "", slope=Slope(1e6, 9e5, 1.1e6, 3))
    found = forecast(arm(mem_available=GIB), verdict(grew, outcome=Outcome.INCONCLUSIVE))
    assert found is not None
    assert not found.settled
    assert found.hours is not None


def test_a_group_gives_back_old_file_pages_before_it_runs_out() -> None:
    found = room_left(
        arm(cgroup_max=8 * GIB, cgroup_current=7 * GIB, cgroup_inactive_file=2 * GIB, mem_available=4 * GIB)
    )
    assert found == Room(CONTROL_GROUP, 8 * GIB, 3 * GIB)


def test_a_machine_that_is_fuller_than_its_group_comes_first() -> None:
    found = room_left(arm(cgroup_max=8 * GIB, cgroup_current=GIB, mem_available=GIB, mem_total=16 * GIB))
    assert found == Room(MACHINE, 16 * GIB, GIB)


def test_without_a_look_at_the_machine_there_is_growth_but_no_end() -> None:
    found = forecast(arm(), verdict(leaking(1e6)))
    assert found is not None
    assert (found.room, found.hours, found.per_request) == (None, None, 1000.0)


def test_nothing_measured_is_nothing_forecast() -> None:
    assert forecast(arm(mem_available=GIB), verdict()) is None


@pytest.mark.parametrize(("rate", "growth"), [(None, 1.0), (0.0, 1.0), (1.0, 0.0), (1.0, -5.0), (1.0, None)])
def test_no_rate_or_no_growth_never_ends(rate: float | None, growth: float | None) -> None:
    assert hours_until(Room(MACHINE, GIB, GIB), rate, growth) is None
