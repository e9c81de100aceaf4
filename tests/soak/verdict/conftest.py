# SPDX-License-Identifier: Apache-2.0
"""The synthetic runs of `benchmarks/` are the rules' test data too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
