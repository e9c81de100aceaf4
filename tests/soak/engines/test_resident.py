# SPDX-License-Identifier: Apache-2.0
"""The least memory of a process in several looks."""

from __future__ import annotations

import os

from vllm_soak.engines.resident import Least, in_use


def test_the_least_of_several_looks_counts() -> None:
    least = Least()
    held = bytearray(32 << 20)
    held[::4096] = b"x" * len(held[::4096])
    least.look([os.getpid(), 4194999], 10)
    much = least.by_pid[os.getpid()].bytes
    del held
    least.look([os.getpid()], 20)
    assert list(least.by_pid) == [os.getpid()]
    assert least.by_pid[os.getpid()].bytes < much - (16 << 20)
    more = bytearray(32 << 20)
    more[::4096] = b"x" * len(more[::4096])
    least.look([os.getpid()], 30)
    assert least.by_pid[os.getpid()].requests == 20, "the count is that of the least"
    del more
    assert in_use(4194999) is None
