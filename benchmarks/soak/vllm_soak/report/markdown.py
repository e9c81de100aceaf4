# SPDX-License-Identifier: Apache-2.0
"""`report.md`: the report for an issue, a pull request or a job summary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vllm_soak.report.document import compose

if TYPE_CHECKING:
    from pathlib import Path

    from vllm_soak.report.advice import Advice
    from vllm_soak.report.document import Document, Section
    from vllm_soak.report.ladder import Ladder
    from vllm_soak.report.table import Table
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$@])")


def render_markdown(run: RunData, verdict: RunVerdict, pictures: list[Path]) -> str:
    """The whole report as Markdown; `pictures` are named relative to the report's folder."""
    document = compose(run, verdict)
    several = len(document.table.columns) > 1
    blocks = [
        f"# {escape(document.headline.label)}",
        escape(document.headline.reason),
        bullets([f"{name}: {value}" for name, value in document.subject]),
        *(f"> **Warning:** {escape(one)}" for one in document.warnings),
        *(ladder(one, named=several) for one in document.ladders),
        table(document.table),
        table(document.turns),
        *(f"![{escape(one.stem.replace('-', ' '))}](plots/{one.name})" for one in pictures),
        *(section(one) for one in document.sections),
        advice(document),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", text)


def fenced(text: str, language: str = "text") -> str:
    """Literal text in a fence that is longer than any run of backticks inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def bullets(lines: list[str]) -> str:
    """A list."""
    return "\n".join(f"- {escape(line)}" for line in lines)


def ladder(drawn: Ladder, *, named: bool) -> str:
    """One leak as a block of text."""
    return (f"{escape(drawn.arm)}:\n\n" if named else "") + fenced(str(drawn))


def table(built: Table) -> str:
    """The arms side by side; an empty string when there is nothing to show."""
    if not built.rows:
        return ""
    head = row([built.head, *built.columns])
    rule = "|---|" + "---:|" * len(built.columns)
    return "\n".join([head, rule, *(row([one.name, *(str(cell) for cell in one.cells)]) for one in built.rows)])


def row(cells: list[str]) -> str:
    """One row of a table."""
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"


def section(one: Section) -> str:
    """A titled list."""
    return f"## {escape(one.title)}\n\n{bullets(one.lines)}"


def advice(document: Document) -> str:
    """The next commands to type."""
    return "\n\n".join(["## Next", *(advice_text(one) for one in document.advice)])


def advice_text(one: Advice) -> str:
    """A reason and its command."""
    return f"{escape(one.text)}:\n\n{fenced(one.command, 'sh')}" if one.command else escape(one.text)
