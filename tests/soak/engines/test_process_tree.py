# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil

from vllm_soak.engines.process_tree import is_stopped, kill_tree

# A leader with a child that ignores SIGTERM; prints the child's pid when both stand.
LEADER = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"],
    stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
if len(sys.argv) > 1: sys.exit()
time.sleep(600)
"""


def start(*arguments: str) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    leader = subprocess.Popen(
        [sys.executable, "-c", LEADER, *arguments], stdout=subprocess.PIPE, start_new_session=True
    )
    assert leader.stdout is not None
    child = psutil.Process(int(leader.stdout.readline()))
    leader.stdout.close()
    return leader, child


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_stubborn_child_is_killed_too() -> None:
    leader, child = start()
    kill_tree(leader)
    assert leader.returncode is not None
    assert gone(child)


def test_an_orphan_of_a_dead_leader_is_found_by_its_session() -> None:
    leader, child = start("leave")
    leader.wait()
    assert not gone(child)
    kill_tree(leader)
    assert gone(child)


def test_a_stopped_tree_is_ended() -> None:
    leader, child = start()
    for pid in (leader.pid, child.pid):
        os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, leader.pid, os.WSTOPPED | os.WNOWAIT)
    assert is_stopped(leader.pid)
    kill_tree(leader)
    assert leader.returncode == -signal.SIGTERM, "it was woken to take the polite signal"
    assert gone(child)
    assert not is_stopped(leader.pid)


def test_killing_twice_is_allowed() -> None:
    leader, _ = start()
    kill_tree(leader)
    kill_tree(leader)
