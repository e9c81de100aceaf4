# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.metadata
import logging
import os
import subprocess
import sys
from typing import Any

import pytest

from vllm_soak.patching import apply
from vllm_soak.probe import plugin

SCRIPT = """
import sys
from vllm_soak.probe.plugin import load
load()
load()
print(sorted(name for name in sys.modules if name.startswith("vllm_soak.")))
"""


def test_silent_unless_asked() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "VLLM_SOAK_PROBE"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    assert "vllm_soak.probe.server" not in done.stdout
    assert "vllm_soak.patching.apply" in done.stdout


@pytest.mark.parametrize("failing", ["apply_selected", "nothing"])
def test_never_raises(failing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(**_: Any) -> Any:
        raise OSError("disk on fire")

    def succeed(**_: Any) -> list[Any]:
        return []

    monkeypatch.delenv("VLLM_SOAK_PROBE", raising=False)
    monkeypatch.setattr(apply, "apply_selected", fail if failing == "apply_selected" else succeed)
    with caplog.at_level(logging.WARNING):
        plugin.load()
    expected = ["vllm-soak: its patches did not load (OSError: disk on fire)."]
    assert [record.getMessage() for record in caplog.records] == (expected if failing != "nothing" else [])


def test_entry_point_is_this_function() -> None:
    found = importlib.metadata.entry_points(group="vllm.general_plugins", name="vllm_soak")
    if not list(found):
        pytest.skip("this package is on the path, but not installed")
    assert next(iter(found)).load() is plugin.load
