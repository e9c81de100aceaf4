# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import resource
import stat

import pytest

from vllm_soak.errors import StoreError
from vllm_soak.report.atomic import write_atomic


def test_a_file_replaces_the_one_before(tmp_path):
    path = tmp_path / "report.md"
    write_atomic(path, "old")
    assert write_atomic(path, "né → \udcff") == path
    assert path.read_text("utf-8") == "né → \\udcff"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def no_space():
    """The kernel refuses to write more than 100 bytes to a file, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("no_space")
def test_no_space_is_one_sentence_and_leaves_the_old_file(tmp_path):
    path = write_atomic(tmp_path / "report.md", "old")
    with pytest.raises(StoreError, match=r"cannot write .*report\.md \(file too large\): free space there"):
        write_atomic(path, "new" * 100)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(StoreError, match="no such file or directory"):
        write_atomic(tmp_path / "gone" / "report.md", "text")
