# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_soak.errors import StoreError
from vllm_soak.store.reader import read_run
from vllm_soak.store.writer import RunStore

Spawn = Callable[..., "subprocess.Popen[str]"]
CheckFull = Callable[[Path, int], list[str]]

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
def test_a_read_only_folder_is_one_sentence(
    tmp_path: Path, deeper: str, passable: Callable[[Path], None], spawn: Spawn
) -> None:
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


def fill(spawn: Spawn, folder: Path, limit: int) -> tuple[int, list[str]]:
    said, errors = spawn(FILL, folder, limit).communicate()
    assert said, errors
    written, sentences = json.loads(said)
    return written, sentences


@pytest.fixture
def check_full(spawn: Spawn, integrity: Callable[[Path], list[str]]) -> CheckFull:
    def check(folder: Path, limit: int) -> list[str]:
        written, sentences = fill(spawn, folder, limit)
        assert len(sentences) == 2
        assert written > 10
        assert [s.requests for s in read_run(folder).arms[0].samples] == list(range(written + 1))
        assert integrity(folder) == ["ok"]
        assert all("\n" not in sentence for sentence in sentences)
        return sentences

    return check


def test_a_file_size_limit_loses_nothing_that_was_written(tmp_path: Path, check_full: CheckFull) -> None:
    assert "cannot be written" in check_full(tmp_path / "run", 400_000)[0]


@pytest.fixture
def disk(small_disk: Callable[[int], Path]) -> Path:
    return small_disk(1)


def test_a_full_disk_loses_nothing_that_was_written(disk: Path, check_full: CheckFull) -> None:
    (disk / "ballast").write_bytes(b"x" * 300_000)
    assert "no space is left" in check_full(disk / "run", 0)[0]


@pytest.mark.parametrize("blocks", [0, 2, 5, 9, 12])
def test_a_disk_without_room_for_a_run_leaves_no_half_run(disk: Path, blocks: int) -> None:
    free = os.statvfs(disk)
    (disk / "ballast").write_bytes(b"x" * (free.f_bavail - blocks) * free.f_frsize)
    with pytest.raises(StoreError, match="space"):
        RunStore.create(disk / "run", {})
    (disk / "ballast").unlink()
    with RunStore.create(disk / "run", {"again": True}):
        assert read_run(disk / "run").plan == {"again": True}


LOCKED_OUT = """
import sys
from pathlib import Path
from vllm_soak.store.reader import read_run
print(read_run(Path(sys.argv[1])).plan)
"""


def test_a_run_on_a_full_disk_is_read(disk: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunStore.create(disk / "run", {"full": True}):
        # As a SIGKILL leaves it: a log that was not folded in, and no shared-memory file.
        for name in ("run.sqlite", "run.sqlite-wal"):
            (disk / name).write_bytes((disk / "run" / name).read_bytes())
    free = os.statvfs(disk)
    (disk / "ballast").write_bytes(b"x" * free.f_bavail * free.f_frsize)
    monkeypatch.setenv("TMPDIR", str(disk))
    said, errors = spawn(LOCKED_OUT, disk).communicate()
    assert said == "{'full': True}\n", errors


@pytest.mark.parametrize("whole", [True, False])
def test_a_run_folder_that_vanishes_is_said_so(tmp_path: Path, whole: bool) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        if whole:
            shutil.rmtree(store.file.parent)
        else:
            store.file.unlink()
        with pytest.raises(StoreError, match="was removed while the run was under way"):
            store.set_status("finished")
