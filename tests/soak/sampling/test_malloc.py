# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_soak.sampling import malloc as malloc_module
from vllm_soak.sampling.malloc import malloc, trim

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallinfo2 is glibc's")


@glibc
def test_an_allocation_is_counted() -> None:
    before = malloc()
    held = [bytes(1000) for _ in range(20_000)]
    after = malloc()
    total = {name: after[f"malloc_{name}"] - before[f"malloc_{name}"] for name in ("uordblks", "hblkhd")}
    assert sum(total.values()) > 15_000_000
    assert after["python_blocks"] - before["python_blocks"] > 10_000
    assert len(held) == 20_000


@glibc
def test_trim_is_there() -> None:
    assert trim()


def test_another_c_library_is_absent_rather_than_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malloc_module, "_libc", lambda: None)
    assert set(malloc()) == {"python_blocks"}
    assert not trim()


@glibc
def test_what_is_handed_out_is_counted_to_the_byte() -> None:
    gc.collect()
    gc.disable()  # what others left behind stays as long
    try:
        before = malloc()["allocated"]
        held = [bytearray(100_000) for _ in range(50)]
        grown = malloc()["allocated"] - before
    finally:
        gc.enable()
    assert 50 * 100_000 <= grown < 50 * 100_000 + 100_000
    assert len(held) == 50


INTERPOSER = """
#include <stddef.h>
extern void *__libc_malloc(size_t);
void *malloc(size_t size) { return __libc_malloc(size); }
"""


@glibc
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler to build another allocator")
def test_with_another_allocator_in_charge_glibcs_figures_are_absent(tmp_path: Path) -> None:
    source, library = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text(INTERPOSER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    script = "from vllm_soak.sampling.malloc import malloc; print(sorted(malloc()))"
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['python_blocks']"
