# SPDX-License-Identifier: Apache-2.0
"""A hybrid model served by a real engine, with and without the patch."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from vllm_soak.engines.models.build import build
from vllm_soak.environments.bundle import overlay

CHILD = Path(__file__).with_name("served_child.py")
OWN_ENGINES = "VLLM_SOAK_TEST_ENGINES"


@pytest.fixture
def python(request):
    if os.environ.get(OWN_ENGINES):
        return Path(os.environ[OWN_ENGINES], "e0.25.1", "bin", "python")
    return request.getfixturevalue("affected_engine").python


@pytest.fixture
def served(python, tmp_path):
    """Serve the tiny hybrid model in the engine's interpreter and return what the child saw."""
    environment = os.environ | {
        "PYTHONPATH": str(overlay(tmp_path / "overlay")),
        "VLLM_SOAK_PATCHES": "kv-block-zeroer",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [str(python), str(CHILD), str(build("lfm2", tmp_path / "models"))],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=840,  # pytest's own is 900
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.usefixtures("cpu_library")
def test_same_outputs_and_blocks_zero_before_their_first_use(served):
    patched, upstream = served["patched"], served["upstream"]
    assert patched["status"] == "applied"
    assert patched["seen"]["routed"] == patched["seen"]["calls"] > 0
    assert (upstream["status"], upstream["seen"]["routed"], served["left"]) == ("disabled", 0, [])
    for run in (patched, upstream):
        assert run["seen"]["wrong_bytes"] == 0
        assert run["seen"]["checked_bytes"] > 0
    assert patched["seen"]["blocks"] == upstream["seen"]["blocks"]
    assert patched["tokens"] == upstream["tokens"]
    assert patched["chances"] == upstream["chances"]
