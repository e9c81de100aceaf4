# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from vllm_soak.probe.address import make_private, probe_folder, remove_stale, short_name, socket_of
from vllm_soak.probe.client import ProbeClient
from vllm_soak.probe.server import Server

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


def test_a_link_in_place_of_the_socket_is_not_followed(tmp_path: Path) -> None:
    secret, link = tmp_path / "secret", tmp_path / "1.sock"
    secret.touch(mode=0o640)
    link.symlink_to(secret)
    with pytest.raises(OSError, match=r"replaced|symbolic"):
        make_private(link)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o640


def test_what_answers_is_not_stale_though_its_process_is_not_to_be_seen(tmp_path: Path) -> None:
    """A container's process, by the number that it has in there, in a folder that is shared."""
    alive, dead = (tmp_path / f"{2**22 + at}.sock" for at in (1, 2))
    server = Server(alive)
    with socket.socket(socket.AF_UNIX) as one, short_name(dead) as name:
        one.bind(name)
    remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [alive.name]
    server.close()


def test_the_number_of_a_dead_process_may_be_used_again(tmp_path: Path) -> None:
    path = tmp_path / f"{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as left, short_name(path) as name:
        left.bind(name)
    server = Server(path)
    server.start()
    assert ProbeClient(path).ping()["pid"] == os.getpid()
    server.close()
