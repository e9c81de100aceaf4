# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from vllm_soak.probe.address import probe_folder, remove_stale, socket_of

if TYPE_CHECKING:
    from pathlib import Path


def test_one_means_a_private_folder_of_the_runtime_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLLM_SOAK_PROBE", "1")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = probe_folder()
    assert folder == tmp_path / "vllm-soak"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert probe_folder() == folder


def test_without_a_runtime_directory_it_is_in_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VLLM_SOAK_PROBE", "1")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert probe_folder() == tmp_path / f"vllm-soak-{os.getuid()}"


def test_a_default_folder_that_others_may_enter_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLLM_SOAK_PROBE", "1")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "vllm-soak").mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="only this user"):
        probe_folder()
    (tmp_path / "vllm-soak").rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "vllm-soak").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="only this user"):
        probe_folder()


def test_only_sockets_of_dead_processes_are_removed(tmp_path: Path) -> None:
    alive, other = socket_of(tmp_path, os.getpid()), tmp_path / "notes.sock"
    dead = socket_of(tmp_path, 2**22 + 12345)  # beyond the greatest process id of Linux
    for path in (alive, other, dead):
        path.touch()
    remove_stale(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([alive, other])
