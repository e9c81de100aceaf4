# SPDX-License-Identifier: Apache-2.0
"""A suspect as a ladder from the root of its process down to the container that grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from vllm_soak.report.number import count, percent, plural, rate, size, small_size
from vllm_soak.report.printable import printable

if TYPE_CHECKING:
    from vllm_soak.store.record import Step
    from vllm_soak.verdict.outcome import ProcessVerdict, Reconciliation, Suspect

GAP = "   "
WIDE_GAP = "      "


class Role(str, Enum):
    """What a line of a ladder is, so that a renderer can colour it."""

    HEADER = "header"
    RUNG = "rung"
    SUSPECT = "suspect"
    UNDERLINE = "underline"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a ladder.

    Args:
        text: The line, in plain characters.
        mark: Where the suspect reference stands in `text`, as `(start, end)`; None elsewhere.
    """

    role: Role
    text: str
    mark: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Ladder:
    """One suspect of one process, drawn."""

    arm: str
    process: str
    path: str
    lines: list[Line]

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines)


def draw_ladder(arm: str, process: ProcessVerdict, suspect: Suspect, width: int | None = None) -> Ladder:
    """Draw a suspect; in `width` columns the growth stands below the suspect reference where it must."""
    lines = [
        *(Line(Role.HEADER, text) for text in folded(header(process, suspect), "", width)),
        Line(Role.RUNG, "  " + printable(process.process)),
        *rungs(suspect, width),
        *(Line(Role.NOTE, text) for parts, gap in notes(process, suspect) for text in folded(parts, "  ", width, gap)),
        *(Line(Role.NOTE, text) for text in entries(suspect)),
    ]
    return Ladder(arm, process.process, suspect.path, lines)


def folded(parts: list[str], margin: str, width: int | None, gap: str = GAP) -> list[str]:
    """The parts in one line, or in as few as they fit in, the first one left of the others."""
    line = margin + gap.join(parts)
    if width is None or len(line) <= width:
        return [line]
    lines = [margin + parts[0]]
    for part in parts[1:]:
        longer = lines[-1] + gap + part
        if len(lines) > 1 and len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(margin + WIDE_GAP + part)
    return lines


def header(process: ProcessVerdict, suspect: Suspect) -> list[str]:
    """The first line: outcome, process, growth in objects and bytes a request, bytes an object."""
    title = f"{suspect.outcome.value.upper()}  {printable(process.process)} (pid {process.pid})"
    growth = f"{rate(suspect.per_request)} objects/request"
    least = at_least(suspect)
    return [
        title,
        growth,
        f"{least}{rate(suspect.bytes_per_request)} B/request",
        f"{least}{small_size(suspect.bytes_per_entry)}/object",
    ]


def at_least(suspect: Suspect) -> str:
    """What stands before bytes that are a lower bound, since what an entry keeps alive was not measured."""
    return "at least " if suspect.bytes_at_least else ""


def merged(steps: list[Step]) -> list[tuple[str, str]]:
    """Labels and types of the rungs, with an index joined to the attribute that it indexes."""
    rungs: list[tuple[str, str]] = []
    for step in steps:
        label, kind = printable(step.label, 200), printable(step.type, 200)
        if label.startswith("[") and rungs:
            label = rungs.pop()[0] + label
        rungs.append((label, kind))
    return rungs


def rungs(suspect: Suspect, width: int | None) -> list[Line]:
    """The rungs below the process, the last one underlined and with the growth beside or below it."""
    steps = merged(suspect.steps) or [(printable(suspect.path), printable(suspect.type))]
    lines = [Line(Role.RUNG, f"{indent(depth)}└─ {label}: {kind}") for depth, (label, kind) in enumerate(steps)]
    label, last = steps[-1][0], lines.pop().text
    start = len(indent(len(lines))) + 3
    mark, growth = (start, start + len(label)), items(suspect)
    wide = last + WIDE_GAP + growth
    below = [Line(Role.UNDERLINE, " " * start + "~" * len(label))]
    if width is None or len(wide) <= width:
        return [*lines, Line(Role.SUSPECT, wide, mark), *below]
    return [*lines, Line(Role.SUSPECT, last, mark), *below, Line(Role.RUNG, " " * start + growth)]


def indent(depth: int) -> str:
    """The white space left of a rung."""
    return "  " + " " * 3 * depth


def items(suspect: Suspect) -> str:
    """Length at the end and growth of each round: `814,800 items (+28,000 in each of 5 rounds)`."""
    return f"{plural(suspect.length_last, 'item')} ({growth_text(suspect.growth)})"


def growth_text(growth: list[int]) -> str:
    """Growth of each round, said once when all rounds agree."""
    if not growth:
        return "no measured round"
    steps = [count(one, signed=True) if one else "0" for one in growth]
    if len(set(growth)) == 1:
        return f"{steps[0]} in each of {len(growth)} rounds" if len(growth) > 1 else f"{steps[0]} in 1 round"
    shown = steps if len(steps) <= 8 else [*steps[:4], "…", *steps[-3:]]
    return f"{', '.join(shown)} in {len(growth)} rounds"


def notes(process: ProcessVerdict, suspect: Suspect) -> list[tuple[list[str], str]]:
    """What is known of the defect, and what the growth explains; each in parts, and what is between them."""
    found = [(defect(suspect) if suspect.known_defect else ["known defect: none on this path"], GAP)]
    if process.reconciliation:
        found.append((explained(suspect, process.reconciliation), " "))
    return found


def entries(suspect: Suspect) -> list[str]:
    """What a few new entries look like, those that look alike once."""
    found = list(dict.fromkeys(printable(one, 200) for one in suspect.samples))
    return [f"  new entries: {found[0]}", *(f"               {one}" for one in found[1:])] if found else []


def defect(suspect: Suspect) -> list[str]:
    """The known defect and what became of its patch."""
    source = ", ".join(printable(one) for one in (suspect.upstream, suspect.affected) if one)
    named = f"known defect: {printable(suspect.known_defect)}" + (f" ({source})" if source else "")
    if suspect.workaround:
        return [named, f"patch: none; {printable(suspect.workaround)}"]
    return [named, f"patch: {patch_text(suspect.patch_status)}"]


def patch_text(status: str) -> str:
    """A patch's status in words that say what to expect."""
    words = {
        "": "available, not applied",
        "disabled": "available, not applied",
        "drifted": "drifted, not applied (this engine's source is not the one it was written for)",
        "unknown-version": "not applied (not verified on this release)",
        "failed": "failed to apply",
    }
    return words.get(status, printable(status))


def explained(suspect: Suspect, parts: Reconciliation) -> list[str]:
    """How much of the growth in use this container accounts for, and what came back."""
    back = f"gc freed {size(parts.gc_freed)}, trim returned {size(parts.trim_returned)}"
    total, growth = sum(suspect.growth) * suspect.bytes_per_entry, size(parts.growth, signed=True)
    if not (parts.growth > 0 and math.isfinite(total)):
        return [
            f"accounts for {size(total, signed=True)}, while bytes {parts.basis} moved by {growth};",
            back,
        ]
    share = at_least(suspect) + percent(total / parts.growth) if total <= parts.growth else "all"
    return [f"explains {share} of {growth} {parts.basis.replace(' ', '-')} growth;", back]
