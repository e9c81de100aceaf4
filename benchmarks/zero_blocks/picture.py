# SPDX-License-Identifier: Apache-2.0
"""The plot."""

from __future__ import annotations

import json
from pathlib import Path


def plot(path: Path) -> Path:
    """Draw bandwidth over bytes a call, and return the picture's path."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    data = json.loads(path.read_text(encoding="utf-8"))
    figure, axes = plt.subplots(figsize=(8, 5))
    rows = [row for row in data["rows"] if row.get("caches") != "warm"]
    for name in dict.fromkeys(row["contestant"] for row in rows):
        own = sorted((row["bytes"], row["gb_per_s"]) for row in rows if row["contestant"] == name)
        axes.plot(*zip(*own, strict=True), ".", label=name)
    axes.set(xscale="log", yscale="log", xlabel="bytes zeroed by a call", ylabel="GB/s", title=data["device"])
    axes.legend()
    picture = path.with_suffix(".png")
    figure.savefig(picture, dpi=120, bbox_inches="tight")
    return picture
