# SPDX-License-Identifier: Apache-2.0
"""The terminal report as a picture, for a README."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from rich.console import Console

from vllm_soak.report.terminal import print_report

if TYPE_CHECKING:
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict


def terminal_svg(run: RunData, verdict: RunVerdict, width: int = 108) -> str:
    """Draw what `print_report` prints as an SVG that loads nothing from the network."""
    console = Console(
        record=True,
        width=width,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    print_report(run, verdict, console, [])
    svg = console.export_svg(title="vllm-soak", unique_id="vllm-soak")
    return re.sub(r"@font-face\s*\{[^}]*\}", "", svg)
