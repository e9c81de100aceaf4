# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from vllm_soak.probe.role import role

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    import pytest


def test_the_host_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_SOAK_ROLE", "core")
    assert role() == "core"
    monkeypatch.delenv("VLLM_SOAK_ROLE")
    monkeypatch.setattr("sys.argv", ["vllm", "serve", "model"])
    assert role() == "APIServer"
    monkeypatch.setattr("sys.argv", ["folder/script.py"])
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    assert role() == "LLM"
    monkeypatch.delitem(sys.modules, "vllm")
    assert role() == "script.py"
    monkeypatch.setattr("sys.argv", ["-c"])
    assert role() == "Python"


def test_a_child_is_called_what_the_engine_called_it(target: Callable[..., subprocess.Popen[str]]) -> None:
    process = target(
        """
        import multiprocessing
        from vllm_soak.probe.role import role
        def tell(): print(role(), flush=True)
        child = multiprocessing.get_context("fork").Process(target=tell, name="EngineCore_DP0")
        child.start(); child.join()
        tell()
        """,
        VLLM_SOAK_ROLE="host",
    )
    assert process.communicate()[0].split() == ["EngineCore_DP0", "host"]


def test_a_title_goes_before_the_name_that_multiprocessing_has(target: Callable[..., subprocess.Popen[str]]) -> None:
    process = target(
        """
        import ctypes, multiprocessing
        from vllm_soak.probe.role import role
        def tell():
            line = open("/proc/self/stat").read().rpartition(")")[2].split()
            start, end = int(line[45]), int(line[46])
            ctypes.memset(start, 0, end - start)
            ctypes.memmove(start, b"VLLM::Worker_TP0", 16)
            print(role(), flush=True)
        child = multiprocessing.get_context("fork").Process(target=tell, name="VllmWorker-0")
        child.start(); child.join()
        """
    )
    assert process.communicate()[0].split() == ["Worker_TP0"]
