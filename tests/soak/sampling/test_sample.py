# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import vllm_soak
from vllm_soak.sampling.collector import collector
from vllm_soak.sampling.device import device
from vllm_soak.sampling.sample import take_sample

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc is Linux's")


# In a process of its own: threads of other tests may end at any time, and files that they left open be closed.
COUNT = """
import os, threading
from vllm_soak.sampling.process import process
stop = threading.Event()
thread = threading.Thread(target=stop.wait)
before = process()
thread.start()
os.pipe()
after = process()
stop.set()
names = ("threads", "fds")
print([after[name] - before[name] for name in names], after["cpu_user_jiffies"] >= before["cpu_user_jiffies"])
"""


@linux
def test_threads_and_open_files_are_counted() -> None:
    paths = {"PYTHONPATH": str(Path(vllm_soak.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", COUNT], env=paths, capture_output=True, text=True, check=True)
    assert done.stdout == "[1.0, 2.0] True\n"


def test_collections_are_counted() -> None:
    before = collector()
    gc.collect()
    after = collector()
    assert after["gc_collections"] > before["gc_collections"]
    assert {"gc_count0", "gc_count1", "gc_count2", "gc_frozen", "gc_uncollectable"} <= set(after)


def test_torch_is_neither_imported_nor_initialised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert device() == {}
    assert "torch" not in sys.modules
    torch: Any = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert device() == {}


def test_every_value_is_a_number_and_a_path_that_leads_nowhere_is_absent() -> None:
    held = [1, 2, 3]
    found = take_sample(settled=True, watch=["held", "nothing.here"])
    assert found["lengths"] == {"held": 3}
    assert all(type(value) is float for value in found["values"].values())
    assert {"in_use", "gc_freed", "rss_anon"} <= set(found["values"]) or sys.platform != "linux"
    assert "gc_freed" not in take_sample(settled=False)["values"]
    assert len(held) == 3
