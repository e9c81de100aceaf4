# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from vllm_soak.sampling.memory import in_use, memory, read_fields

SIZE = 32 << 20
linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc is Linux's")


@linux
def test_touched_memory_shows_in_every_number() -> None:
    before, used = memory(), in_use()
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        for at in range(0, SIZE, mmap.PAGESIZE):
            room[at] = 1
        after, now = memory(), in_use()
    for name in ("rss", "rss_anon", "pss", "uss"):
        assert after[name] - before[name] > 0.8 * SIZE, name
    assert after["hwm"] >= after["rss"] - (1 << 20)
    assert used is not None
    assert now is not None
    assert now - used > 0.8 * SIZE


def test_what_is_not_there_is_absent(tmp_path: Path) -> None:
    file = tmp_path / "status"
    assert read_fields(file, {"VmRSS": "rss"}) == {}
    file.write_text("Name:\tpython\nVmRSS:\t   12 kB\nThreads:\t3\n")
    assert read_fields(file, {"VmRSS": "rss", "VmSwap": "swap"}) == {"rss": 12288.0}
