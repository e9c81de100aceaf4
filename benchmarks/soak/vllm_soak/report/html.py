# SPDX-License-Identifier: Apache-2.0
"""`report.html`: one page that loads nothing, in the reader's light or dark colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vllm_soak import __version__
from vllm_soak.report.document import compose

if TYPE_CHECKING:
    from vllm_soak.report.ladder import Line
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict

PHONE_COLUMNS = 50


def render_html(run: RunData, verdict: RunVerdict, pictures: list[tuple[str, str]]) -> str:
    """The whole report as one page.

    Args:
        run: What the run left behind.
        verdict: What is said of it.
        pictures: Each plot as SVG made by `figure.as_svg`, and its caption as plain text.
    """
    loader = PackageLoader("vllm_soak.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["pieces"] = pieces
    template = environment.get_template("report.html")
    drawn = [(Markup(svg), caption) for svg, caption in pictures]  # noqa: S704 - SVG is ours: its texts are escaped by matplotlib
    document, narrow = compose(run, verdict), compose(run, verdict, PHONE_COLUMNS)
    ladders = list(zip(document.ladders, narrow.ladders, strict=True))
    return template.render(document=document, ladders=ladders, pictures=drawn, version=__version__)


def pieces(line: Line) -> tuple[str, str, str]:
    """A line of a ladder before, in and after its suspect reference."""
    start, end = line.mark or (len(line.text), len(line.text))
    return line.text[:start], line.text[start:end], line.text[end:]
