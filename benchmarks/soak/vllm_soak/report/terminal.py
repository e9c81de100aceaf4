# SPDX-License-Identifier: Apache-2.0
"""The report on a terminal, in 80 columns or more, and in plain lines in a CI log."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from vllm_soak.report.document import BAD, GOOD, UNSURE, compose
from vllm_soak.report.ladder import Role
from vllm_soak.report.printable import plain_ascii, printable
from vllm_soak.report.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

    from vllm_soak.report.advice import Advice
    from vllm_soak.report.document import Document, Headline, Section
    from vllm_soak.report.ladder import Ladder, Line
    from vllm_soak.report.table import Cell, Table
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict

__all__ = ["Progress", "print_findings", "print_next", "print_report"]

TONES = {BAD: "bold white on red", GOOD: "bold white on dark_green", UNSURE: "bold black on yellow"}
STYLES = {Role.HEADER: "bold red", Role.UNDERLINE: "bold red", Role.NOTE: "yellow"}
COLUMN_GAP = 3
UNBROKEN = "\N{NO-BREAK SPACE}"


def print_report(run: RunData, verdict: RunVerdict, console: Console, files: list[Path]) -> None:
    """Print a run's report: the verdict first, the next command to type last.

    Args:
        run: What the run left behind, complete or not.
        verdict: What is said of it.
        console: Where to print.
        files: Report files that were written, to be named.
    """
    print_findings(run, verdict, console)
    print_next(run, verdict, console, files)


def print_findings(run: RunData, verdict: RunVerdict, console: Console) -> None:
    """Print a report down to what the run could not see, without a file written yet."""
    show(typesetter(console).findings(compose(run, verdict, console.width)), console)


def print_next(run: RunData, verdict: RunVerdict, console: Console, files: list[Path]) -> None:
    """Print the end of a report: the files that were written, and the next command to type."""
    show(typesetter(console).next(compose(run, verdict, console.width), files), console)


def typesetter(console: Console) -> Typesetter:
    """The typesetter for a console."""
    return Typesetter(console.width, ascii_only=console.options.ascii_only)


def show(parts: Iterator[Text | Grid], console: Console) -> None:
    """Print parts; text is not cut, so that what is longer than a line can be copied."""
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))


def full_width(table: Table) -> int:
    """Columns that a table takes with every remark beside its value."""
    texts = [[row.name, *map(str, row.cells)] for row in table.rows]
    return sum(max(map(len, column)) + COLUMN_GAP for column in zip(*texts, strict=True))


class Typesetter:
    """Turns a document into lines; all text is literal, never markup.

    Sentences are wrapped here, between words only: commands and paths stay whole, so that they can be copied.

    Args:
        width: Columns of the terminal.
        ascii_only: Whether the terminal's encoding lacks Unicode.
    """

    def __init__(self, width: int, *, ascii_only: bool = False) -> None:
        self.width = width
        self.ascii_only = ascii_only

    def findings(self, document: Document) -> Iterator[Text | Grid]:
        """The report from the headline to what it cannot see."""
        yield from self.headline(document.headline)
        yield from self.subject(document.subject)
        for warning in document.warnings:
            yield from self.wrapped(warning, "! ", "bold yellow")
        for ladder in document.ladders:
            yield from self.ladder(ladder, named=len(document.table.columns) > 1)
        yield from [self.table(document.table)] if document.table.rows else [Text()]
        yield from [self.table(document.turns)] if document.turns.rows else []
        for section in document.sections:
            yield from self.section(section)

    def next(self, document: Document, files: list[Path]) -> Iterator[Text | Grid]:
        """The report's end: what was written, and what to type next."""
        yield from self.files(files)
        yield from self.advice(document.advice)

    def text(self, content: str, style: str = "") -> Text:
        """Literal text in a style."""
        return Text(plain_ascii(content) if self.ascii_only else content, style, overflow="fold")

    def wrapped(self, content: str, first: str = "", style: str = "") -> list[Text]:
        """A sentence in lines that fit, hanging behind its first characters."""
        room = max(self.width, len(first) + 20)
        margin = " " * len(first)
        wrapper = textwrap.TextWrapper(room, first, margin, break_on_hyphens=False, break_long_words=False)
        lines = wrapper.wrap(content)
        return [self.text(line.replace(UNBROKEN, " "), style) for line in lines]

    def headline(self, headline: Headline) -> list[Text]:
        """The answer in colour, and its reason."""
        return [Text(), self.text(f" {headline.label} ", TONES[headline.tone]), *self.wrapped(headline.reason)]

    def subject(self, facts: list[tuple[str, str]]) -> list[Text]:
        """What was soaked."""
        shown = [value.replace(" ", UNBROKEN) for name, value in facts if name not in {"started", "status"}]
        return self.wrapped(" · ".join(shown), style="dim")

    def ladder(self, ladder: Ladder, *, named: bool) -> list[Text]:
        """One leak, from the root down."""
        title = [self.text(f"{ladder.arm}:", "dim")] if named else []
        return [Text(), *title, *(self.line(one) for one in ladder.lines)]

    def line(self, line: Line) -> Text:
        """One line of a ladder, its suspect reference in red."""
        text = self.text(line.text, STYLES.get(line.role, ""))
        if line.mark:
            text.stylize("bold red", *line.mark)
        return text

    def table(self, table: Table) -> Grid:
        """The arms side by side."""
        grid = Grid(box=box.ASCII2 if self.ascii_only else box.SIMPLE_HEAD, pad_edge=False)
        grid.add_column(table.head, overflow="fold")
        gap = " " if full_width(table) <= self.width else "\n"
        for name in table.columns:
            grid.add_column(self.text(name), justify="right", overflow="fold")
        for row in table.rows:
            grid.add_row(self.text(row.name), *(self.cell(one, gap) for one in row.cells))
        return grid

    def cell(self, cell: Cell, gap: str) -> Text:
        """One value, its remark beside or below it."""
        if not cell.remark:
            return self.text(cell.text)
        return self.text(f"{cell.text}{gap}").append(self.text(f"({cell.remark})", "dim"))

    def section(self, section: Section) -> list[Text]:
        """A titled list."""
        items = [line for one in section.lines for line in self.wrapped(one, "- ")]
        return [self.text(section.title, "bold"), *items, Text()]

    def files(self, files: list[Path]) -> list[Text]:
        """The report files, as paths that can be copied."""
        if not files:
            return []
        return [self.text("Written", "bold"), *(self.text(f"- {printable(path)}") for path in files), Text()]

    def advice(self, advice: list[Advice]) -> list[Text]:
        """The next commands to type."""
        lines = [self.text("Next", "bold")]
        for one in advice:
            lines += self.wrapped(one.text + (":" if one.command else ""), "- ")
            lines += [self.text(f"    {one.command}", "bold cyan")] if one.command else []
        return lines
