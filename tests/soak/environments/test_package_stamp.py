# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import uv

from vllm_soak.environments.environment_record import EnvironmentRecord, read_record
from vllm_soak.environments.folder_lock import exclusive
from vllm_soak.environments.package_content import content_hash
from vllm_soak.environments.package_stamp import refresh_package
from vllm_soak.environments.uv_tool import UvError, UvTool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An environment without an engine, as the builder leaves one."""
    place = tmp_path / "environment"
    subprocess.run([uv.find_uv_bin(), "venv", "--quiet", "--python", sys.executable, place], check=True)
    EnvironmentRecord("x==1", "full", "3.11", "0", (), "now").write(place)
    return place


def refresh(folder: Path) -> bool:
    """Refresh with progress thrown away."""
    with exclusive(folder.parent / "lock", lambda: None) as lock:
        return refresh_package(folder, UvTool(lambda _: None, lock, folder.parent))


def stamp(folder: Path) -> str:
    """The content that the record claims."""
    record = read_record(folder)
    assert record is not None
    return record.package


def test_installs_once(folder: Path) -> None:
    assert refresh(folder)
    assert stamp(folder) == content_hash()
    assert list(folder.glob("lib/python*/site-packages/vllm_soak/errors.py"))
    assert not refresh(folder)
    assert {path.name for path in folder.parent.iterdir()} == {"environment", "lock"}


def test_another_content_is_replaced(folder: Path) -> None:
    refresh(folder)
    (errors,) = folder.glob("lib/python*/site-packages/vllm_soak/errors.py")
    errors.unlink()
    record = read_record(folder)
    assert record is not None
    record.with_package("of an older version").write(folder)
    assert refresh(folder)
    assert errors.exists()


def test_a_failed_install_claims_nothing(folder: Path) -> None:
    refresh(folder)
    record = read_record(folder)
    assert record is not None
    record.with_package("of an older version").write(folder)
    (folder / "bin" / "python").unlink()
    with pytest.raises(UvError):
        refresh(folder)
    assert stamp(folder) == ""
    assert {path.name for path in folder.parent.iterdir()} == {"environment", "lock"}
