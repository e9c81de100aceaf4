# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace

from vllm_soak.report.measure import (
    culprits,
    in_use,
    in_use_curve,
    length_curve,
    lengths_over_measured,
    main_process,
    process_names,
    throughput,
    warm_up_requests,
    was_walked,
)
from vllm_soak.store.record import MEASURED, Sample


def test_a_curve_begins_at_the_end_of_warm_up(leak_run):
    curve = in_use_curve(leak_run.arms[0], "EngineCore")
    assert curve.requests == [1800, 2400, 3000, 3600, 4200, 4800]
    assert warm_up_requests(leak_run.arms[0]) == curve.requests[0]


def test_bytes_in_use_fall_back_to_resident_and_swapped_memory():
    sample = Sample("run", "EngineCore", 1, MEASURED, 0, 600, 1.0, {"rss_anon": 100.0, "swap": 20.0})
    assert in_use(sample) == 120
    assert in_use(replace(sample, values={**sample.values, "in_use": 90.0})) == 90
    assert in_use(replace(sample, values={"rss": 5.0})) is None


def test_values_that_are_not_numbers_leave_the_curve(leak_run):
    leak_run.arms[0].samples[-1].values["in_use"] = math.nan
    assert in_use_curve(leak_run.arms[0], "EngineCore").requests[-1] == 4200


def test_lengths_come_from_censuses_and_from_watched_paths(leak_run, leak_verdict):
    arm, suspect = leak_run.arms[0], culprits(leak_verdict)[0]
    from_census = length_curve(replace(arm, samples=[]), suspect)
    from_watch = length_curve(replace(arm, populations=[]), suspect)
    assert from_census == from_watch
    assert lengths_over_measured(arm, suspect) == (25_200, 67_200)
    assert lengths_over_measured(replace(arm, samples=[], populations=[]), suspect) is None


def test_a_census_that_ends_after_its_round_still_belongs_to_it(leak_run, leak_verdict):
    arm, suspect = leak_run.arms[0], culprits(leak_verdict)[0]
    late = [replace(one, requests=one.requests + 350) for one in arm.populations]
    assert lengths_over_measured(replace(arm, samples=[], populations=late), suspect) == (25_200, 67_200)


def test_only_a_complete_walk_proves_that_nothing_grew(leak_run):
    arm = leak_run.arms[0]
    assert was_walked(arm, "EngineCore")
    assert not was_walked(arm, "APIServer")
    partial = [replace(one, partial="ran out of time") for one in arm.censuses]
    assert not was_walked(replace(arm, censuses=partial), "EngineCore")


def test_the_worst_process_comes_first(ab_run, ab_verdict):
    assert main_process(ab_verdict) == "EngineCore"
    assert process_names(ab_run, ab_verdict) == ["EngineCore"]


def test_throughput_needs_time(leak_run):
    rounds = leak_run.arms[0].rounds
    assert math.isclose(throughput(rounds), sum(r.requests for r in rounds) / sum(r.seconds for r in rounds))
    assert throughput([]) is None
    assert throughput([replace(rounds[0], seconds=0.0)]) is None
