# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.errors import UsageError
from vllm_soak.locate.socket_of_pid import find_socket

PROBE = ("-m", "vllm_soak.probe")


def test_the_folder_that_the_process_was_given_is_looked_in(serve: Callable[..., Any], tmp_path: Path) -> None:
    service = serve(*PROBE, VLLM_SOAK_PROBE=str(tmp_path / "a folder"))
    assert find_socket(service.pid) == tmp_path / "a folder" / f"{service.pid}.sock"


@pytest.mark.parametrize(
    ("variable", "folder"), [("XDG_RUNTIME_DIR", "vllm-soak"), ("TMPDIR", f"vllm-soak-{os.getuid()}")]
)
def test_the_default_folder_of_the_process_is_looked_in(
    serve: Callable[..., Any], tmp_path: Path, variable: str, folder: str
) -> None:
    service = serve(*PROBE, **{variable: str(tmp_path)})
    assert find_socket(service.pid) == tmp_path / folder / f"{service.pid}.sock"


def test_a_probe_that_was_turned_off_is_not_there(serve: Callable[..., Any], tmp_path: Path) -> None:
    service = serve(*PROBE, VLLM_SOAK_PROBE="0", TMPDIR=str(tmp_path))
    with pytest.raises(UsageError, match="carries no probe"):
        find_socket(service.pid)


def test_a_process_of_another_user_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    with pytest.raises(UsageError, match="belongs to another user"):
        find_socket(1)
