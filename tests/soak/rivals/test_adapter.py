# SPDX-License-Identifier: Apache-2.0
"""The adapters of the tools, and what measures and ends them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_every_adapter_is_there_without_its_tool():
    from rivals.adapter import Adapter
    from rivals.registry import TOOLS, adapter_class

    assert all(issubclass(adapter_class(name), Adapter) for name in TOOLS)
    assert [name for name in TOOLS if adapter_class(name).child] == ["memray-attach", "vllm-soak-child"]


def test_tracemalloc_names_the_line_that_grows_a_list(tmp_path):
    from rivals.tracing import Tracemalloc

    tool, held = Tracemalloc(tmp_path), []
    tool.start()
    held.extend(bytearray(1_000_000) for _ in range(5))  # this line
    reading = tool.read(1)
    tool.stop()
    assert reading.lines[0].startswith(f"{__file__}:")
    assert reading.stop["seconds"] > 0


def test_vmrss_has_a_slope_and_no_names(tmp_path):
    from rivals.vmrss import VmRss

    tool, held = VmRss(tmp_path), []
    tool.start()
    for requests in range(4):
        held.append(b"x" * 20_000_000)
        assert tool.read(requests).lines == []
    tool.stop()
    assert tool.facts()["slopes"][0] > 10_000_000


def test_a_peak_that_is_over_is_seen():
    from rivals.clock import Peak

    peak = Peak(os.getpid())
    data = b"x" * 200_000_000
    del data
    assert not peak.known or peak.extra() > 150_000_000


def test_the_step_clock_sees_the_longest_wait():
    from rivals.clock import StepClock

    class Slow:
        vocab_size = 3
        submit = busy = facts = None

        def step(self):
            import time

            time.sleep(0.05)
            return []

    clock = StepClock(Slow())
    clock.step()
    assert clock.longest >= 0.05
    clock.reset()
    assert clock.longest == 0


def test_a_tool_that_hangs_is_ended_and_one_that_fails_is_told_apart(command, tmp_path):
    wait = [sys.executable, "-c", "import time; time.sleep(600)"]
    assert command.follow(wait, dict(os.environ), tmp_path / "log", 0.5).startswith("stopped after")
    assert (
        command.follow([sys.executable, "-c", "exit(3)"], dict(os.environ), tmp_path / "log", 300)
        == "ended with status 3"
    )
    assert command.follow([sys.executable, "-c", ""], dict(os.environ), tmp_path / "log", 300) == ""


def test_only_what_looks_into_the_child_has_an_engine_of_its_own(command):
    from rivals.registry import TOOLS

    found = command.groups(list(TOOLS))
    assert found[1:] == [["memray-attach"], ["vllm-soak-child"]]
    assert sorted(name for group in found for name in group) == sorted(TOOLS)


@pytest.mark.parametrize(
    ("body", "expected"),
    [("pass", ""), ("raise SystemExit(3)", "ended with status 1"), ("time.sleep(600)", "stopped after 5 s")],
)
def test_a_fork_says_how_it_failed_and_is_ended_in_time(body, expected, root, tmp_path):
    code = f"""
import sys, time
from pathlib import Path
from rivals.forked import fork
def action():
    print("in the fork", flush=True)
    {body}
print(fork(action, Path(sys.argv[1]), 300 if "sleep" not in {body!r} else 5))
"""
    line = [sys.executable, "-c", code, str(tmp_path / "log")]
    where = {**os.environ, "PYTHONPATH": str(root / "benchmarks")}
    done = subprocess.run(line, env=where, capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == expected
    assert (tmp_path / "log").read_text().startswith("in the fork")
