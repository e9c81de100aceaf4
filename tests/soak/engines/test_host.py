# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from vllm_soak.engines.host import ORPHANED

# A controller that starts a host, says its pid, and dies without a word when its input ends.
CONTROLLER = """
import os, subprocess, sys
ours_in, theirs_out = os.pipe()
theirs_in, ours_out = os.pipe()
host = subprocess.Popen([sys.executable, "-m", "vllm_soak.engines.host",
    "--control-in", str(theirs_in), "--control-out", str(theirs_out)],
    pass_fds=(theirs_in, theirs_out), start_new_session=True)
print(host.pid, flush=True)
sys.stdin.read()
os._exit(1)
"""


def test_a_host_ends_when_its_controller_dies() -> None:
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert controller.stdout is not None
    host = psutil.Process(int(controller.stdout.readline()))
    assert host.is_running()
    controller.communicate()
    assert psutil.wait_procs([host], timeout=120)[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
def test_a_stopped_host_ends_when_its_controller_dies() -> None:
    """A stopped process runs no watch: only the kernel can end it."""
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert controller.stdout is not None
    host = psutil.Process(int(controller.stdout.readline()))
    while host.num_threads() < 2:  # the kernel is asked before the watch is started
        time.sleep(0.05)
    os.kill(host.pid, signal.SIGSTOP)
    controller.kill()
    controller.communicate()
    try:
        assert psutil.wait_procs([host], timeout=120)[1] == []
    finally:
        with suppress(psutil.NoSuchProcess):
            host.kill()


def test_a_busy_host_ends_when_its_controller_dies() -> None:
    """The main thread may be deep in the engine: the watch must not need it."""
    script = (
        "import os, sys, time\nfrom vllm_soak.engines.host import watch_controller\n"
        "watch_controller(0)\nprint(1, flush=True)\nwhile True: pass\n"
    )
    host = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert host.stdin is not None
    assert host.stdout is not None
    host.stdout.readline()
    assert host.poll() is None
    host.stdin.close()
    assert host.wait(120) == ORPHANED
    host.stdout.close()
