# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from vllm_soak.zeroing import native
from vllm_soak.zeroing.failure import LibraryError


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """Let the loader look into an empty folder."""
    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    native.load.cache_clear()
    yield tmp_path
    native.load.cache_clear()


def compiled(source: str, path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)], input=source, text=True, check=True)


@pytest.mark.parametrize(("kind", "needs"), [("cpu", "a C compiler"), ("cuda", "CUDA 12.8 or later")])
@pytest.mark.usefixtures("beside")
def test_a_library_that_was_not_built_is_said_with_what_it_takes(kind, needs):
    with pytest.raises(LibraryError, match=rf"_zero_blocks_{kind}.so is not part .* where {needs} is"):
        native.load(kind)


def test_a_library_that_does_not_load_is_said(beside):
    (beside / "_zero_blocks_cpu.so").write_bytes(b"not a library")
    with pytest.raises(LibraryError, match="cannot be loaded"):
        native.load("cpu")


def test_a_library_of_another_version_is_said(beside):
    compiled("int zero_blocks_abi(void) { return 999; }", beside / "_zero_blocks_cpu.so")
    with pytest.raises(LibraryError, match="another version"):
        native.load("cpu")
