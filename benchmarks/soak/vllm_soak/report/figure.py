# SPDX-License-Identifier: Apache-2.0
"""A drawn plot as a file, and as part of a page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import matplotlib as mpl

from vllm_soak.report.plots import COLOURS, GRID, INK, SOFT, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that a page has names for.
VARIABLES = {INK: "--ink", SOFT: "--soft", GRID: "--grid", COLOURS[0]: "--first", COLOURS[1]: "--second"}


def as_png(figure: Figure) -> bytes:
    """The picture for a file, on white."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=200, facecolor="white", metadata={"Software": None})
    return file.getvalue()


def as_svg(figure: Figure, name: str) -> str:
    """The picture for a page: its colours are the page's, its identifiers its own."""
    file = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    for value, variable in VARIABLES.items():
        svg = svg.replace(value, f"var({variable})")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-')
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"|<svg height="[^"]*"', r"<svg \1", svg, count=1)
