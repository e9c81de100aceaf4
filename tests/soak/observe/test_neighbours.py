# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
import time

from vllm_soak.observe.neighbours import Neighbours, own_seconds, processors
from vllm_soak.observe.process_reader import main_wait

SPIN = """
import time
end = time.process_time() + 0.5
while time.process_time() < end:
    pass
print("done", flush=True)
input()
"""


def spinner() -> subprocess.Popen[str]:
    """A child that has used half a second of processor time, and waits."""
    process = subprocess.Popen([sys.executable, "-c", SPIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_child_is_ours_alive_and_dead_and_the_target_is_not() -> None:
    before = own_seconds(())
    child = spinner()
    alive = own_seconds(())
    without = own_seconds({child.pid})
    child.communicate()
    dead = own_seconds(())
    assert alive - before >= 0.4
    assert alive - without >= 0.4
    assert dead - before >= 0.4


def test_the_machine_s_work_grows_with_ours() -> None:
    before = processors()
    spinner().communicate()
    after = processors()
    assert after["work"] - before["work"] >= 0.3
    assert after["steal"] >= before["steal"]


def test_rates_come_with_the_second_look_and_are_what_is_left() -> None:
    neighbours = Neighbours()
    assert neighbours.read(time.monotonic(), 0.0, ()) == {}
    spinner().communicate()
    values = neighbours.read(time.monotonic(), 0.0, ())
    assert values.keys() == {"others_cores", "steal_cores"}
    assert min(values.values()) >= 0


def test_more_than_there_is_leaves_nothing() -> None:
    neighbours = Neighbours()
    neighbours.read(time.monotonic(), 0.0, ())
    time.sleep(0.05)
    assert neighbours.read(time.monotonic(), 1e6, ())["others_cores"] == 0.0
    assert "others_cores" not in neighbours.read(time.monotonic() + 1, None, ())


def test_a_thread_s_wait_for_a_core_only_grows() -> None:
    first = main_wait(os.getpid())
    assert main_wait(os.getpid())["main_wait"] >= first["main_wait"] >= 0
    assert main_wait(2**22 + 1) == {}
