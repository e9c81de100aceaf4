# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.errors import StoreError, UsageError
from vllm_soak.store import schema
from vllm_soak.store.reader import read_run, read_verdict
from vllm_soak.store.record import Sample
from vllm_soak.store.writer import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_reads_while_the_run_is_written(store: RunStore, records: dict[str, Any]) -> None:
    folder = store.file.parent
    assert read_run(folder).status == "running"
    for n in range(3):
        store.add_sample(replace(records["sample"], round=n))
        assert [s.round for s in read_run(folder).arms[0].samples] == list(range(n + 1))
    assert read_verdict(folder) is None


def test_reading_changes_nothing(store: RunStore, records: dict[str, Any]) -> None:
    store.add_sample(records["sample"])
    files = sorted(store.file.parent.glob("run.sqlite*"))
    before = {f: f.read_bytes() for f in files if not f.name.endswith("-shm")}
    assert store.file.with_name("run.sqlite-wal") in before
    read_run(store.file.parent)
    assert {f: f.read_bytes() for f in before} == before


READ = """
import os, sys
from pathlib import Path
from vllm_soak.store.reader import read_run
if os.geteuid() == 0:
    os.setuid(65534)
print(len(read_run(Path(sys.argv[1])).arms[0].samples))
"""


def test_remains_in_a_folder_that_cannot_be_written_are_read(
    store: RunStore, records: dict[str, Any], tmp_path: Path, passable: Callable[[Path], None]
) -> None:
    store.add_sample(records["sample"])
    remains = tmp_path / "remains"
    remains.mkdir()
    for suffix in ("", "-wal"):
        name = f"run.sqlite{suffix}"
        (remains / name).write_bytes((store.file.parent / name).read_bytes())
        (remains / name).chmod(0o444)
    remains.chmod(0o555)
    passable(tmp_path)
    done = subprocess.run([sys.executable, "-c", READ, remains], capture_output=True, text=True, check=False)
    remains.chmod(0o755)
    assert done.stdout == "1\n", done.stderr
    assert sorted(f.name for f in remains.iterdir()) == ["run.sqlite", "run.sqlite-wal"]


@pytest.mark.parametrize("made", [True, False])
def test_a_folder_without_a_run_is_a_usage_error(tmp_path: Path, made: bool) -> None:
    folder = tmp_path / "empty"
    if made:
        folder.mkdir()
    with pytest.raises(UsageError, match="give the folder of a run"):
        read_run(folder)
    assert not (folder / schema.FILE_NAME).exists()


def test_a_newer_schema_says_upgrade(store: RunStore) -> None:
    store._connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(StoreError, match="upgrade vllm-soak"):
        read_run(store.file.parent)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / schema.FILE_NAME)
    connection.execute("CREATE TABLE run (id)")
    connection.close()
    with pytest.raises(StoreError, match="not written by vllm-soak"):
        read_run(tmp_path)


def closed_run(folder: Path, samples: int) -> bytes:
    with RunStore.create(folder, {}) as store:
        store.add_arm("run")
        for n in range(samples):
            store.add_sample(Sample("run", "p", 1, "measured", n, n, 0.0, {"pad" * 50: 1.0}))
    return (folder / schema.FILE_NAME).read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"not a database at all" * 300,
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:4096] + b"\xff" * (len(whole) - 4096),
        lambda whole: whole.replace(b'{"pad', b'["pad', 1),
        lambda whole: whole.replace(b'":1.0}', b'":"a"}', 1),
    ],
    ids=["empty", "text", "half", "pages", "json", "value"],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, damage: Any) -> None:
    whole = closed_run(tmp_path, 100)
    (tmp_path / schema.FILE_NAME).write_bytes(damage(whole))
    with pytest.raises(StoreError) as caught:
        read_run(tmp_path)
    assert "\n" not in str(caught.value)
    assert schema.FILE_NAME in str(caught.value)


@settings(deadline=None, max_examples=30)
@given(
    values=st.dictionaries(st.text(), st.floats(allow_nan=False)),
    lengths=st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(0, 2**53)),
)
def test_any_values_survive(tmp_path_factory: pytest.TempPathFactory, values: Any, lengths: Any) -> None:
    sample = Sample("run", "p", 1, "measured", 0, 0, 0.5, values, lengths)
    folder = tmp_path_factory.mktemp("run")
    with RunStore.create(folder, {}) as store:
        store.add_arm("run")
        store.add_sample(sample)
    assert read_run(folder).arms[0].samples == [sample]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE run SET plan = '[1]'", "plan holds [1]"),
        ("UPDATE run SET plan = 'null'", "plan holds None"),
        ("DELETE FROM run", "run row is missing"),
        ("UPDATE sample SET requests = 'many'", "requests holds 'many'"),
        ("UPDATE sample SET \"values\" = '[]'", "values holds []"),
        ('UPDATE sample SET lengths = \'{"a": "b"}\'', "lengths holds 'b'"),
        ("UPDATE arm SET engine = '3'", "engine holds 3"),
        ("UPDATE arm SET failure = X'00'", "failure holds"),
    ],
)
def test_a_damaged_value_is_one_sentence(tmp_path: Path, statement: str, words: str) -> None:
    closed_run(tmp_path, 3)
    with closing(sqlite3.connect(tmp_path / schema.FILE_NAME)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(StoreError, match="is damaged") as caught:
        read_run(tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_running_run_is_live_while_its_controller_holds_the_folder(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, {}):
        assert read_run(tmp_path).live
    left = read_run(tmp_path)
    assert (left.status, left.live) == ("running", False)
