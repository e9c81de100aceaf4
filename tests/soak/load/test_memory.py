# SPDX-License-Identifier: Apache-2.0
"""A million requests by hand: see benchmarks/http_load.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vllm_soak.load.mix_file import read_mix

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
REQUESTS = 4000
FEWEST, MOST = 4, 10  # loads
LEAST = 0.7 * 2**20  # bytes that two loads would leave


@pytest.fixture
def trivial_url() -> Iterator[str]:
    """The server of the benchmark."""
    line = [sys.executable, str(BENCHMARKS / "trivial_server.py")]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.communicate()


def test_nothing_of_a_request_is_kept(load_process, trivial_url) -> None:
    """A reference kept for each request would be 0.8 MiB after 8,000; a body of 700 bytes 5.3 MiB.

    What is kept is kept by every load; what the first ones need once, more of it on a busy machine, has its end.
    """
    load_process.request(1, "start", url=trivial_url, model="m", mix=read_mix(BENCHMARKS / "http_load.toml"))
    levels: list[float] = []
    while len(levels) < FEWEST or (len(levels) < MOST and levels[-1] - levels[-3] >= LEAST):
        number = len(levels)
        loaded = load_process.request(2, "load", requests=REQUESTS, first=number * REQUESTS)["loaded"]
        assert loaded["failed"] == 0
        assert loaded["requests"] == REQUESTS
        levels.append(loaded["client"]["rss_anon"])
    assert levels[-1] - levels[-3] < LEAST, levels
