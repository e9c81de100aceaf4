# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc

import pytest

from vllm_soak.probe.client import ProbeClient

# Adds a thousand entries to a list each time it is told to, and answers when it has.
GROWING = """
import sys
from vllm_soak.probe.plugin import load
load()
def serve():
    ids = []
    print("ready", flush=True)
    for _ in sys.stdin:
        ids.extend(range(1000))
        print("grown", flush=True)
serve()
"""


@pytest.fixture
def growing(target, tmp_path):
    process = target(GROWING)
    process.stdout.readline()

    def grow():
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()

    return tmp_path / f"{process.pid}.sock", grow


def lengths(found):
    return {row["path"]: (row["length"], row.get("grown")) for row in found["populations"] if "ids" in row["path"]}


def test_a_census_aside_sees_what_grew_and_the_next_one_does_not_miss_it(growing):
    socket, grow = growing
    probe = ProbeClient(socket)
    probe.census(baseline=True)
    grow()
    aside = probe.census(aside=True)
    assert [length for length, _ in lengths(aside).values()] == [1000]
    grow()
    ((length, grown),) = lengths(probe.census()).values()
    assert (length, grown) == (2000, 2000)
    again = probe.census(aside=True)
    ((length, grown),) = lengths(again).values()
    assert (length, grown) == (2000, 0)


def test_a_census_aside_before_any_other_names_nothing_and_is_no_baseline(growing):
    socket, grow = growing
    probe = ProbeClient(socket)
    aside = probe.census(aside=True, max_pause_ms=5.0)
    assert aside["objects"] > 1000
    assert lengths(aside) == {}
    grow()
    assert lengths(probe.census()) == {}


def test_how_the_collector_is_set(client):
    found = client.collector()
    assert found["enabled"] is gc.isenabled()
    assert found["threshold"] == list(gc.get_threshold())
    assert [set(one) for one in found["stats"]] == [{"collections", "collected", "uncollectable"}] * 3
    assert found["callbacks"] == [getattr(one, "__qualname__", type(one).__qualname__) for one in gc.callbacks]
