# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from vllm_soak.observe.proc_stat import read_stat
from vllm_soak.steps.stacks import ALLOW, complaint, dump, let_go_on, spy

pytestmark = pytest.mark.skipif(spy() is None, reason="py-spy is not installed here")


def test_the_stacks_of_a_live_process(live):
    text, why = dump(live.pid, native=False, seconds=300)
    if ALLOW in why:
        pytest.skip("this machine lets nobody trace")
    assert (why, "serve_requests" in text) == ("", True)
    assert read_stat(live.pid).state not in "Tt"


def test_a_stopped_process_is_read_and_stays_stopped(live):
    os.kill(live.pid, signal.SIGSTOP)
    os.waitpid(live.pid, os.WUNTRACED)
    text, why = dump(live.pid, native=False, seconds=300)
    if ALLOW not in why:
        assert "serve_requests" in text
    assert read_stat(live.pid).state == "T"


def test_a_process_that_a_tracer_left_stopped_is_woken(live, eventually):
    started = read_stat(live.pid).started
    os.kill(live.pid, signal.SIGSTOP)
    os.waitpid(live.pid, os.WUNTRACED)
    let_go_on(live.pid, started - 1)  # another process that has its pid
    assert read_stat(live.pid).state == "T"
    let_go_on(live.pid, started)
    eventually(lambda: read_stat(live.pid).state != "T")


def test_no_process_and_no_python_are_told():
    assert dump(2**22 + 1, native=False, seconds=300) == ("", f"no stacks of process {2**22 + 1}: it is gone")
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        text, why = dump(sleeper.pid, native=False, seconds=300)
        sleeper.kill()
    assert text == ""
    assert why.startswith(f"no stacks of process {sleeper.pid}: ")


def test_a_dump_takes_no_longer_than_it_may(live):
    text, why = dump(live.pid, native=False, seconds=0.0001)
    assert text == ""
    assert why == f"no stacks of process {live.pid}: py-spy took longer than 0.0001 s"


def test_without_py_spy(monkeypatch, live, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dump(live.pid, native=False, seconds=300) == ("", "no stacks: py-spy is not installed (pip install py-spy)")


def test_a_refusal_says_what_to_allow():
    assert ALLOW in complaint(7, "Error: Permission Denied: Try running again with elevated permissions")
    assert ALLOW in complaint(7, "Error: Operation not permitted (os error 1)")
    long = "Error: Failed to get stack traces\n\nCaused by:\n    0: No such process\n\nStack backtrace:\n   0: x\n"
    assert complaint(7, long) == "no stacks of process 7: Failed to get stack traces; 0: No such process"
    assert complaint(7, "") == "no stacks of process 7: py-spy said nothing"
