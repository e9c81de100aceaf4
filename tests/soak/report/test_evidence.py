# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from vllm_soak.report.evidence import blind_spots, contained, evidence, patch_lines, warnings
from vllm_soak.store.record import Event
from vllm_soak.verdict.outcome import Cycle


def test_a_bounded_cache_is_told_with_its_rule(ab_verdict):
    (line,) = contained(ab_verdict)
    assert line.startswith("bounded by rule met-its-bound: 2,000 of at most 2,000 items; stopped growing")
    assert line.endswith("cached_block_hash_to_block._cache")


def test_evidence_names_rounds_rule_slope_and_smallest_leak(leak_run, leak_verdict):
    text = "\n".join(evidence(leak_run, leak_verdict))
    assert "5 measured rounds of 600 after 1,800 requests of warm-up" in text
    assert "EngineCore: leak by rule grew-every-round: one container grew" in text
    assert "+121.0 KiB per 1,000 requests (95 % interval +115.6 KiB to +126.3 KiB, 6 points)" in text
    assert "the smallest leak that this run would have seen: 5.4 KiB resident per 1,000 requests" in text
    assert "8 walks of the heap: up to 780,412 objects, 2.1 s at most (python walker)" in text


def test_the_comparison_tells_its_pairs(ab_run, ab_verdict):
    text = "\n".join(evidence(ab_run, ab_verdict))
    assert "median 1.003 (95 % interval 0.994 to 1.011, 30 pairs of blocks)" in text


def test_a_partial_walk_is_a_blind_spot_said_once(leak_run, leak_verdict):
    arm = leak_run.arms[0]
    arm.censuses[:] = [replace(one, partial="only 200 rows are kept") for one in arm.censuses]
    assert blind_spots(leak_run, leak_verdict) == [
        "memory of native code is seen as bytes only, never as a container",
        "heap census of EngineCore: only 200 rows are kept",
    ]


def test_failures_and_warnings_are_told_and_information_is_not(ab_run):
    failed = replace(ab_run.arms[0], failure="died with signal 9")
    events = [
        Event("", 0.5, "error", "died with signal 9."),
        Event("", 1.0, "info", "ready"),
        Event("patched", 2.0, "warning", "swap is in use"),
    ]
    run = replace(ab_run, status="interrupted", arms=[failed], events=events)
    assert warnings(run) == [
        "the run was interrupted; this report rests on what was stored",
        "unpatched: died with signal 9",
        "patched: swap is in use",
    ]


def test_patches_are_told_by_arm(ab_run):
    assert patch_lines(ab_run) == [
        "unpatched: new-block-ids disabled in EngineCore (switched off for this arm)",
        "patched: new-block-ids applied in EngineCore",
    ]


def test_a_running_run_is_at_work_only_while_a_controller_holds_it(leak_run):
    assert warnings(replace(leak_run, status="running"))[0].startswith("the run was cut short;")
    assert warnings(replace(leak_run, status="running", live=True))[0].startswith("the run is still at work;")


def test_a_watched_path_that_no_sample_found_is_a_warning(leak_run):
    found = next(iter(leak_run.arms[0].samples[0].lengths))
    (said,) = warnings(replace(leak_run, plan={"watch": [found, "engine.lost"]}))
    assert said.startswith("--watch engine.lost was not found: ")


def test_the_smallest_leak_is_said_once(leak_run, leak_verdict):
    process = replace(leak_verdict.arms[0].processes[0], reason="a leak above 5,500 resident bytes would have shown")
    verdict = replace(leak_verdict, arms=[replace(leak_verdict.arms[0], processes=[process])])
    assert "smallest leak" not in "\n".join(evidence(leak_run, verdict))


def test_rings_that_collections_freed_are_told_when_they_are_frequent(leak_run, leak_verdict):
    [arm] = leak_verdict.arms
    [process] = arm.processes
    rings = [
        Cycle("Request.hasher -> partial.args[i] -> Request", 2000, 1.0),
        Cycle("Node.next -> Node", 5, 0.002),
    ]
    told = replace(leak_verdict, arms=[replace(arm, processes=[replace(process, cycles=rings)])])
    lines = evidence(leak_run, told)
    assert any("Request.hasher -> partial.args[i] -> Request, 1 a request" in line for line in lines)
    assert not any("Node.next" in line for line in lines)
