# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vllm_soak.errors import StoreError, UsageError
from vllm_soak.store.reader import read_run, read_verdict
from vllm_soak.store.writer import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable


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
def test_kill_9_loses_no_acknowledged_sample(
    tmp_path: Path, seed: int, endless_writer: subprocess.Popen[str], integrity: Callable[[Path], list[str]]
) -> None:
    time.sleep(random.Random(seed).uniform(0, 0.4))
    endless_writer.send_signal(signal.SIGKILL)
    said, _ = endless_writer.communicate()
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


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(UsageError, match="not a folder"):
            RunStore.create(folder, {})
    assert (tmp_path / "file").read_text() == "mine"


def test_closing_twice_is_harmless_and_folds_the_log(store: RunStore) -> None:
    store.close()
    store.close()
    assert [f.name for f in store.file.parent.iterdir()] == ["run.sqlite"]


def test_reading_an_ended_run_leaves_nothing_beside_it(store: RunStore) -> None:
    folder = store.file.parent
    read_run(folder)
    store.close()
    read_run(folder)
    assert [f.name for f in folder.iterdir()] == ["run.sqlite"]
