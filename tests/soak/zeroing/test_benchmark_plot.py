# SPDX-License-Identifier: Apache-2.0
"""The benchmark's plot; its measurements need torch, and are tested where torch is."""

from __future__ import annotations

import json
import subprocess
import sys


def test_the_plot_is_drawn_from_the_json_alone(root, tmp_path):
    rows = [
        {"contestant": name, "bytes": 1 << at, "gb_per_s": at} for name in ("memset", "zero_blocks") for at in (20, 24)
    ]
    path = tmp_path / "zero_blocks.json"
    path.write_text(json.dumps({"device": "a machine", "kind": "cpu", "rows": rows}), encoding="utf-8")
    command = [sys.executable, str(root / "benchmarks" / "zero_blocks.py"), "--plot", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    picture = path.with_suffix(".png")
    assert done.stdout.strip() == str(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
