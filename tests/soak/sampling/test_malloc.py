# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import platform

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
