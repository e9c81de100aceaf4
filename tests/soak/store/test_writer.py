# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.errors import StoreError, UsageError
from vllm_soak.store.reader import read_run, read_verdict
from vllm_soak.store.row import insert
from vllm_soak.store.writer import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable

# Writes samples without end and says each number on standard output once it is acknowledged.
WRITER = """
import sys
from pathlib import Path
from vllm_soak.store.record import Census, Population, Sample
from vllm_soak.store.writer import RunStore
store = RunStore.create(Path(sys.argv[1]), {"writer": True})
store.add_arm("run")
for n in range(1_000_000):
    store.add_sample(Sample("run", "p", 1, "measured", n, n, 0.0, {"in_use": float(n), "pad" * 60: 1.0}))
    rows = [Population("run", "p", n, n, f"a[{i}]", "a[i]", "f" * 12, "list", n, 56) for i in range(20)]
    store.add_census(Census("run", "p", n, n, 1, 1, 0.1, "python"), rows)
    print(n, flush=True)
"""


def spawn(code: str, *args: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def integrity(folder: Path) -> list[str]:
    connection = sqlite3.connect(folder / "run.sqlite")
    try:
        return [row[0] for row in connection.execute("PRAGMA integrity_check")]
    finally:
        connection.close()


def test_everything_written_is_read_back_equal(store: RunStore, records: dict[str, Any]) -> None:
    store.add_facts("run", {"version": "0.25.1", "block_size": 16})
    store.add_round(records["round"])
    store.add_sample(records["sample"])
    store.add_census(records["census"], [records["population"]])
    store.add_patches([records["patch"]])
    store.add_event("run", "warning", "one")
    store.fail_arm("run", "it died")
    store.set_status("failed")
    store.set_verdict({"outcome": "leak"})
    run = read_run(store.file.parent)
    [arm] = run.arms
    assert (run.plan, run.status) == ({"rounds": 5}, "failed")
    assert arm.engine == {"version": "0.25.1", "block_size": 16}
    assert (arm.rounds, arm.samples, arm.censuses) == (
        [records["round"]], [records["sample"]], [records["census"]])  # fmt: skip
    assert (arm.populations, arm.patches, arm.failure) == ([records["population"]], [records["patch"]], "it died")
    assert [(e.arm, e.level, e.text) for e in run.events] == [("run", "warning", "one")]
    assert read_verdict(store.file.parent) == {"outcome": "leak"}


def test_a_commit_is_synced_and_logged_ahead(store: RunStore) -> None:
    connection = store._connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_census_is_written_whole_or_not_at_all(store: RunStore, records: dict[str, Any]) -> None:
    unwritable = replace(records["population"], length=None)
    with pytest.raises(StoreError):
        store.add_census(records["census"], [records["population"], unwritable])
    [arm] = read_run(store.file.parent).arms
    assert (arm.censuses, arm.populations) == ([], [])
    store.add_census(records["census"], [records["population"]])
    assert len(read_run(store.file.parent).arms[0].populations) == 1


def test_rows_of_an_unknown_arm_are_refused(store: RunStore, records: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.add_sample(replace(records["sample"], arm="nobody"))


def test_an_unknown_status_is_a_programming_error(store: RunStore) -> None:
    with pytest.raises(ValueError, match="done"):
        store.set_status("done")


def test_threads_may_write_at_once(store: RunStore, records: dict[str, Any]) -> None:
    def write(worker: int) -> None:
        for n in range(25):
            store.add_sample(replace(records["sample"], pid=worker, round=n))

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = {(s.pid, s.round) for s in read_run(store.file.parent).arms[0].samples}
    assert seen == {(worker, n) for worker in range(4) for n in range(25)}


@pytest.mark.parametrize("seed", range(6))
def test_kill_9_loses_no_acknowledged_sample(tmp_path: Path, seed: int) -> None:
    writer = spawn(WRITER, tmp_path)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "0\n", writer.stderr and writer.stderr.read()
    time.sleep(random.Random(seed).uniform(0, 0.4))
    writer.send_signal(signal.SIGKILL)
    said, _ = writer.communicate()
    acknowledged = [0, *map(int, said.split("\n")[:-1])]

    [arm] = read_run(tmp_path).arms
    held = [s.requests for s in arm.samples]
    assert held == list(range(len(held)))
    # At most the sample that was under way is there beyond the acknowledged ones.
    assert acknowledged[-1] + 1 <= len(held) <= acknowledged[-1] + 2
    assert len(arm.populations) == 20 * len(arm.censuses)
    assert len(arm.censuses) >= acknowledged[-1] + 1
    assert integrity(tmp_path) == ["ok"]
    assert len(read_run(tmp_path).arms[0].samples) == len(held)


def test_a_folder_with_a_run_is_refused_and_left_alone(store: RunStore, records: dict[str, Any]) -> None:
    store.add_sample(records["sample"])
    store.close()
    with pytest.raises(UsageError, match="already holds a run"):
        RunStore.create(store.file.parent, {})
    assert read_run(store.file.parent).arms[0].samples == [records["sample"]]


def test_a_second_controller_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    writer = spawn(WRITER, tmp_path)
    assert writer.stdout is not None
    writer.stdout.readline()
    with pytest.raises(UsageError, match="another vllm-soak is writing"):
        RunStore.create(tmp_path, {})
    writer.kill()
    writer.communicate()
    with pytest.raises(UsageError, match="already holds a run"):
        RunStore.create(tmp_path, {})


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(UsageError, match="not a folder"):
            RunStore.create(folder, {})
    assert (tmp_path / "file").read_text() == "mine"


CREATE = """
import json, os, sys
from pathlib import Path
from vllm_soak.errors import SoakError
from vllm_soak.store.writer import RunStore
if os.geteuid() == 0:
    os.setuid(65534)
try:
    RunStore.create(Path(sys.argv[1]), {})
except SoakError as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


@pytest.mark.parametrize("deeper", ["", "new"])
def test_a_read_only_folder_is_one_sentence(tmp_path: Path, deeper: str, passable: Callable[[Path], None]) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    passable(tmp_path)
    said, errors = spawn(CREATE, folder / deeper if deeper else folder).communicate()
    assert said, errors
    kind, sentence = json.loads(said)
    assert kind == "StoreError"
    assert "cannot be written" in sentence
    assert "choose a run folder that you may write to" in sentence
    assert "\n" not in sentence
    folder.chmod(0o755)
    assert list(folder.iterdir()) == []


# Writes until the disk is full, then frees room and writes once more; says what happened.
FILL = """
import json, resource, signal, sys
from pathlib import Path
from vllm_soak.errors import StoreError
from vllm_soak.store.record import Sample
from vllm_soak.store.writer import RunStore
folder, limit = Path(sys.argv[1]), int(sys.argv[2])
if limit:
    # Past the limit a write gets EFBIG only when the signal is ignored; else the process dies.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
store = RunStore.create(folder, {})
store.add_arm("run")
written, errors = 0, []
try:
    while written < 100_000:
        store.add_sample(Sample("run", "p", 1, "measured", written, written, 0.0, {"x" * 2000: 1.0}))
        written += 1
except StoreError as error:
    errors.append(str(error))
try:
    store.add_sample(Sample("run", "p", 1, "measured", -1, -1, 0.0, {"x" * 200000: 1.0}))
except StoreError as error:
    errors.append(str(error))
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    (folder.parent / "ballast").unlink()
store.add_sample(Sample("run", "p", 1, "measured", written, written, 0.0))
store.close()
print(json.dumps([written, errors]))
"""


def fill(folder: Path, limit: int) -> tuple[int, list[str]]:
    said, errors = spawn(FILL, folder, limit).communicate()
    assert said, errors
    written, sentences = json.loads(said)
    return written, sentences


def check_full(folder: Path, limit: int) -> list[str]:
    written, sentences = fill(folder, limit)
    assert len(sentences) == 2
    assert written > 10
    assert [s.requests for s in read_run(folder).arms[0].samples] == list(range(written + 1))
    assert integrity(folder) == ["ok"]
    assert all("\n" not in sentence for sentence in sentences)
    return sentences


def test_a_file_size_limit_loses_nothing_that_was_written(tmp_path: Path) -> None:
    assert "cannot be written" in check_full(tmp_path / "run", 400_000)[0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mount], check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
    yield mount
    subprocess.run(["umount", mount], check=True)


def test_a_full_disk_loses_nothing_that_was_written(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * 300_000)
    assert "no space is left" in check_full(small_disk / "run", 0)[0]


@pytest.mark.parametrize("blocks", [0, 2, 5, 9, 12])
def test_a_disk_without_room_for_a_run_leaves_no_half_run(small_disk: Path, blocks: int) -> None:
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * (free.f_bavail - blocks) * free.f_frsize)
    with pytest.raises(StoreError, match="space"):
        RunStore.create(small_disk / "run", {})
    (small_disk / "ballast").unlink()
    with RunStore.create(small_disk / "run", {"again": True}):
        assert read_run(small_disk / "run").plan == {"again": True}


def test_closing_twice_is_harmless_and_folds_the_log(store: RunStore) -> None:
    store.close()
    store.close()
    assert [f.name for f in store.file.parent.iterdir()] == ["run.sqlite"]


def test_statement_names_every_field(records: dict[str, Any]) -> None:
    statement, values = insert("patch", records["patch"])
    assert statement.count("?") == len(values) == 7
