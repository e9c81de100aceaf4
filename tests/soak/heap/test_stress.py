# SPDX-License-Identifier: Apache-2.0
"""Sliced censuses while eight threads change the graph; two minutes of it by hand: see benchmarks/heap_stress.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "heap_stress.py"


def test_threads_that_change_the_graph_see_no_error() -> None:
    command = [sys.executable, "-W", "error", "-X", "faulthandler", str(SCRIPT), "--seconds", "8"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["errors"] == []
    assert found["walks"] > 0
    assert found["turns"] > 1000
