# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from vllm_soak.errors import StoreError, UsageError
from vllm_soak.store.lock import FolderLock
from vllm_soak.store.writer import RunStore


def test_a_second_controller_is_refused_until_the_first_is_gone(
    tmp_path: Path, endless_writer: subprocess.Popen[str]
) -> None:
    with pytest.raises(UsageError, match="another vllm-soak is writing"):
        RunStore.create(tmp_path, {})
    endless_writer.kill()
    endless_writer.communicate()
    with pytest.raises(UsageError, match="already holds a run"):
        RunStore.create(tmp_path, {})


def test_a_released_lock_lets_the_next_in_and_leaves_no_file(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(UsageError, match="another vllm-soak"):
        FolderLock(tmp_path)
    first.release()
    first.release()
    FolderLock(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        FolderLock(tmp_path / "none")
