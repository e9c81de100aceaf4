# SPDX-License-Identifier: Apache-2.0
"""Write every report of a run into its folder."""

from __future__ import annotations

import shlex
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


def write_reports(run: RunData, verdict: RunVerdict, folder: Path) -> tuple[list[Path], str]:
    """Write `report.html`, `.md`, `.json`, `.junit.xml` and `plots/*.png`, the small and most useful ones first.

    Each file is written whole or not at all; one that cannot be written does not keep the others from it.

    Returns:
        The files written, and which ones could not be and why, in one sentence or an empty string.
    """
    shelf = Shelf(folder)
    shelf.put("report.json", render_json(run, verdict))
    shelf.put("report.junit.xml", render_junit(run, verdict))
    pictures, inline = draw_all(run, verdict, shelf)
    shelf.put("report.html", render_html(run, verdict, inline))
    shelf.put("report.md", render_markdown(run, verdict, pictures))
    shelf.files.sort(key=lambda file: (file.parent != folder, file.suffix not in {".html", ".md"}))
    return shelf.files, shelf.complaint


class Shelf:
    """Puts files into a run's folder and remembers which did not fit.

    Args:
        folder: The run folder.

    Attributes:
        files: What was written, in order.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[Path] = []
        self._lacking: list[str] = []
        self._causes: list[str] = []

    def put(self, name: str, content: str | bytes) -> bool:
        """Write one file; return whether it is there."""
        path = self.folder / name
        try:
            make_folder(path.parent)
            self.files.append(write_atomic(path, content))
        except StoreError as error:
            self._lacking.append(name)
            self._causes.append(error.cause)
            return False
        return True

    @property
    def complaint(self) -> str:
        """Which files are missing and why, in one sentence, or an empty string."""
        if not self._lacking:
            return ""
        names, where = ", ".join(self._lacking), shlex.quote(str(self.folder))
        remedy = f"mend that, then `vllm-soak report {where}` writes the reports"
        return f"{names} could not be written ({self._causes[0]}): {remedy}."


def draw_all(run: RunData, verdict: RunVerdict, shelf: Shelf) -> tuple[list[Path], list[tuple[str, str]]]:
    """Draw the plots: PNG files, and SVG with captions for the page."""
    from vllm_soak.report import figure as picture
    from vllm_soak.report import plots, timeline

    files: list[Path] = []
    inline: list[tuple[str, str]] = []
    drawn = [(one.name, one.caption, plots.draw(one)) for one in plots.plan_plots(run, verdict)]
    drawn += [(one.name, one.caption, timeline.draw(one)) for one in timeline.plan_timelines(run)]
    for name, caption, figure in drawn:
        if shelf.put(f"plots/{name}.png", picture.as_png(figure)):
            files.append(shelf.files[-1])
        inline.append((picture.as_svg(figure, name), caption))
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
