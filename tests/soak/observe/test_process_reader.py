# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_soak.observe.counts import Counts
from vllm_soak.observe.proc_stat import read_stat
from vllm_soak.observe.process_reader import ProcessReader, memory, open_files, rollup, switches

# Says when it has done each of three things: held 32 MiB, opened 20 files, spent half a second of processor time.
WORKER = """
import sys, time
print("ready", flush=True)
input(); held = bytearray(b"x") * (32 << 20); print("held", flush=True)
input(); files = [open("/dev/null") for _ in range(20)]; print("opened", flush=True)
input()
until = time.process_time() + 0.5
while time.process_time() < until: pass
print("spent", flush=True)
input()
"""


@pytest.fixture
def worker():
    process = subprocess.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        process.stdout.readline()
        yield process
        process.kill()


def go_on(process) -> None:
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()


def test_memory_files_and_processor_time_of_a_real_process(worker) -> None:
    reader = ProcessReader(worker.pid)
    before = reader.read(read_stat(worker.pid), 100.0)
    assert not {"cores", "minor_faults"} & before.keys()
    go_on(worker)
    held = reader.read(read_stat(worker.pid), 110.0)
    assert held["in_use"] - before["in_use"] == pytest.approx(32 << 20, rel=0.05)
    assert held["in_use"] == held["rss_anon"] + held["swap"]
    assert held["minor_faults"] > 0
    go_on(worker)
    assert reader.read(read_stat(worker.pid), 120.0)["fds"] == held["fds"] + 20
    go_on(worker)
    # Half a second of work in ten seconds; the kernel counts in hundredths.
    assert reader.read(read_stat(worker.pid), 130.0)["cores"] == pytest.approx(0.05, abs=0.01)


def test_the_dear_readings_are_rare(worker) -> None:
    reader = ProcessReader(worker.pid)
    stat = read_stat(worker.pid)
    kinds = [{"pss", "uss"} <= reader.read(stat, now).keys() for now in (0.0, 1.0, 29.0, 31.0, 32.0, 3600.0)]
    assert kinds == [True, False, False, True, False, True]
    assert reader.rare["pss"] >= reader.rare["uss"] > 0


def test_switches_are_counted_over_all_threads() -> None:
    counts = switches(os.getpid())
    assert counts["switches"] > 0
    assert counts["cpu_wait"] >= 0


def test_rates_leave_out_a_count_that_fell() -> None:
    before, after = Counts(10.0, {"a": 5.0, "b": 9.0, "gone": 1.0}), Counts(12.0, {"a": 6.0, "b": 1.0, "new": 3.0})
    assert before.rates(after) == {"a": 0.5}
    assert before.rates(Counts(10.0, {"a": 6.0})) == {}


def test_of_a_process_that_is_gone_nothing_is_read() -> None:
    nobody = 2**22 + 1
    assert (memory(nobody), open_files(nobody), rollup(nobody), switches(nobody)) == ({}, {}, {}, {})
    assert read_stat(nobody) is None


def test_a_command_with_brackets_and_spaces_does_not_confuse(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to(sys.executable)
    with subprocess.Popen([odd, "-c", "input()"], stdin=subprocess.PIPE) as process:
        stat = read_stat(process.pid)
        process.kill()
    assert stat is not None
    assert stat.parent == os.getpid()
    assert stat.started > 0
