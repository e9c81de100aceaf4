# SPDX-License-Identifier: Apache-2.0
"""The benchmark runs, and measures what it says; no figure is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "zero_blocks.py"
CONTESTANTS = {
    "cpu": {"memset", "zero_blocks", "python loop", "index_fill_"},
    "cuda": {"memset", "zero_blocks", "by stores", "by bulk", "index_fill_"},
}


def test_every_contestant_is_timed(device: torch.device, tmp_path: Path) -> None:
    out = tmp_path / "zeroing.json"
    sizes = ["--pages", "4096", "65536", "--blocks", "1", "3", "--rounds", "2", "--memory", "0.02"]
    command = [sys.executable, str(SCRIPT), "--device", device.type, *sizes, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(out.read_text(encoding="utf-8"))
    rows = report["rows"]
    assert CONTESTANTS[device.type] <= {row["contestant"] for row in rows}
    assert {(row["page"], row["blocks"]) for row in rows} == {(4096, 1), (4096, 3), (65536, 1), (65536, 3)}
    for row in rows:
        assert row["bytes"] == row["page"] * row["blocks"] * row["segments"]
        assert row["gb_per_s"] == pytest.approx(row["bytes"] / row["seconds"] / 1e9)
        assert row["share_of_memset"] == 1 or row["contestant"] != "memset"
