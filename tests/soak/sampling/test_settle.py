# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import math
import platform
from pathlib import Path

import pytest

from vllm_soak.sampling.settle import settle

linux = pytest.mark.skipif(
    not Path("/proc/self/status").exists() or platform.libc_ver()[0] != "glibc", reason="needs Linux and glibc"
)


class Knot:
    def __init__(self) -> None:
        self.me = self
        self.payload = bytearray(2 << 20)
        self.payload[::4096] = b"x" * (len(self.payload) // 4096)


@linux
def test_garbage_in_cycles_is_freed_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.heap.cycles.SLOW", math.inf)  # however slow or busy the machine is
    settle()
    gc.disable()
    try:
        for _ in range(10):
            Knot()
        values, garbage = settle()
    finally:
        gc.enable()
    assert {row["ring"]: row["count"] for row in garbage}["Knot.me -> Knot"] == 10
    assert values["gc_objects"] >= 10
    assert values["gc_freed"] + values["trim_returned"] > 15 << 20
    assert values["in_use"] > 0


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        settle()
        assert abs(gc.get_freeze_count() - before) < 1000
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
