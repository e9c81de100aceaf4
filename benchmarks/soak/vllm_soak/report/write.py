# SPDX-License-Identifier: Apache-2.0
"""Write every report of a run into its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.errors import StoreError
from vllm_soak.report.atomic import write_atomic
from vllm_soak.report.html import render_html
from vllm_soak.report.json_report import render_json
from vllm_soak.report.junit import render_junit
from vllm_soak.report.markdown import render_markdown
from vllm_soak.report.terminal import print_report

if TYPE_CHECKING:
    from pathlib import Path

    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict

__all__ = ["print_report", "write_reports"]


def write_reports(run: RunData, verdict: RunVerdict, folder: Path) -> list[Path]:
    """Write `report.html`, `.md`, `.json`, `.junit.xml` and `plots/*.png`; name the files written.

    Each file is written whole or not at all, the small and most useful ones first.

    Raises:
        StoreError: The folder cannot be made or written.
    """
    plots = folder / "plots"
    make_folder(plots)
    files = [
        write_atomic(folder / "report.json", render_json(run, verdict)),
        write_atomic(folder / "report.junit.xml", render_junit(run, verdict)),
    ]
    pictures, inline = draw_all(run, verdict, plots)
    page = write_atomic(folder / "report.html", render_html(run, verdict, inline))
    text = write_atomic(folder / "report.md", render_markdown(run, verdict, pictures))
    return [page, text, *files, *pictures]


def draw_all(run: RunData, verdict: RunVerdict, folder: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Draw the plots: PNG files, and SVG with captions for the page."""
    from vllm_soak.report import plots

    files, inline = [], []
    for plot in plots.plan_plots(run, verdict):
        figure = plots.draw(plot)
        files.append(write_atomic(folder / f"{plot.name}.png", plots.as_png(figure)))
        inline.append((plots.as_svg(figure, plot.name), plot.caption))
    return files, inline


def make_folder(folder: Path) -> None:
    """Make a folder and its parents.

    Raises:
        StoreError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cause = f"cannot make the folder {folder} ({(error.strerror or str(error)).lower()})"
        raise StoreError(cause, "give a run folder that can be written") from error
