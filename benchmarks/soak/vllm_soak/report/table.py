# SPDX-License-Identifier: Apache-2.0
"""The before/after table, in the form in which upstream fixes of memory leaks are reported.

One data structure: the terminal, Markdown, HTML and JSON reports all render it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vllm_soak.report.ladder import at_least
from vllm_soak.report.measure import (
    Curve,
    allocated_curve,
    culprits,
    has_length,
    in_use_curve,
    lengths_over_measured,
    main_process,
    measured_rounds,
    process_names,
    process_verdict,
    span,
    throughput,
    was_walked,
    watched,
)
from vllm_soak.report.number import MISSING, count, count_change, plural, size, size_change, small_size
from vllm_soak.report.printable import printable
from vllm_soak.store.record import MEASURED

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, RunData
    from vllm_soak.verdict.outcome import Ratio, RunVerdict, Suspect

MOST_CONTAINERS = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of one arm.

    Args:
        text: The value as shown.
        remark: What to know beside it: a difference, an interval; may be empty.
        before: At the start of the measured rounds, or None.
        after: At their end, or the one value that there is; None when unknown.
    """

    text: str
    remark: str = ""
    before: float | None = None
    after: float | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.remark})" if self.remark else self.text


@dataclass(frozen=True, slots=True)
class Row:
    """One property of every arm, in the order of the table's columns."""

    name: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """Arms side by side; `head` stands above the names of the rows."""

    columns: list[str]
    rows: list[Row] = field(default_factory=list)
    head: str = "measured rounds"


def build_table(run: RunData, verdict: RunVerdict) -> Table:
    """Put the arms of a run side by side; rows that no arm has a value for are left out."""
    arms = run.arms
    rows = [Row("requests measured", [requests_cell(arm) for arm in arms])]
    for process in memory_processes(run, verdict):
        suffix = f" ({printable(process)})" if len(process_names(run, verdict)) > 1 else ""
        rows.append(Row(f"bytes in use{suffix}", [bytes_cell(in_use_curve(arm, process)) for arm in arms]))
        rows.append(Row(f"bytes allocated{suffix}", [bytes_cell(allocated_curve(arm, process)) for arm in arms]))
    for suspect in culprits(verdict)[:MOST_CONTAINERS]:
        name = printable(suspect.path.rsplit(".", 1)[-1] or suspect.path, 40)
        rows.append(Row(f"length of {name}", [length_cell(arm, suspect) for arm in arms]))
        rows.append(Row(f"bytes per entry of {name}", [entry_cell(arm, suspect, verdict) for arm in arms]))
    rows += watched_rows(run, verdict)
    main = main_process(verdict)
    rows.append(Row("freed by gc", [freed_cell(arm, main, verdict, "gc_freed") for arm in arms]))
    rows.append(Row("returned by trim", [freed_cell(arm, main, verdict, "trim_returned") for arm in arms]))
    rows.append(Row("throughput (all rounds)", [throughput_cell(arm) for arm in arms]))
    if verdict.throughput and len(arms) > 1:
        rows.append(ratio_row(verdict.throughput, len(arms)))
    return Table([printable(arm.name) for arm in arms], [row for row in rows if worth_showing(row)])


def worth_showing(row: Row) -> bool:
    """Whether any arm has a value."""
    return any(cell.text not in {"", MISSING} for cell in row.cells)


def memory_processes(run: RunData, verdict: RunVerdict) -> list[str]:
    """Processes that have a curve of bytes in use in some arm, the main one first."""
    names = process_names(run, verdict)
    return [name for name in names if any(in_use_curve(arm, name).values for arm in run.arms)]


def requests_cell(arm: Arm) -> Cell:
    """Requests completed in the measured rounds."""
    rounds = measured_rounds(arm)
    if not rounds:
        return Cell(MISSING)
    total = sum(one.requests for one in rounds)
    return Cell(count(total), f"in {plural(len(rounds), 'round')}", after=total)


def bytes_cell(found: Curve) -> Cell:
    """Bytes before and after the measured rounds."""
    values = found.values
    if not values:
        return Cell(MISSING)
    before, after = values[0], values[-1]
    return Cell(size_change(before, after), size(after - before, signed=True), before, after)


def length_cell(arm: Arm, suspect: Suspect) -> Cell:
    """Length of a container before and after; a census names only what grew, and that is said."""
    found = lengths_over_measured(arm, suspect)
    if found:
        grown = found[1] - found[0]
        return Cell(count_change(*found), count(grown, signed=True) if grown else "no growth", *found)
    return Cell("did not grow" if was_walked(arm, suspect.process) else MISSING)


def watched_rows(run: RunData, verdict: RunVerdict) -> list[Row]:
    """Lengths of what `--watch` asked for, but for what has a row as a culprit; a path not found is said so."""
    shown = {one.path for one in culprits(verdict)[:MOST_CONTAINERS]}
    rows = []
    paths = [path for path in watched(run) if path not in shown]
    for path, short in zip(paths, short_names(paths), strict=True):
        holders = [name for name in process_names(run, verdict) if any(has_length(arm, name, path) for arm in run.arms)]
        for process in holders or [""]:
            suffix = f" ({printable(process)})" if len(holders) > 1 else ""
            cells = [watched_cell(arm, process, path) for arm in run.arms]
            rows.append(Row(f"length of {printable(short, 40)}{suffix}", cells))
    return rows


def short_names(paths: list[str]) -> list[str]:
    """The last part of each path, or as many as it takes to tell the paths apart."""
    for parts in range(1, max((path.count(".") for path in paths), default=0) + 1):
        names = [".".join(path.split(".")[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return paths


def watched_cell(arm: Arm, process: str, path: str) -> Cell:
    """Length of a watched container before and after the measured rounds."""
    found = [float(one.lengths[path]) for one in span(arm.samples, process) if path in one.lengths]
    if found:
        grown = found[-1] - found[0]
        remark = count(grown, signed=True) if grown else "no growth"
        return Cell(count_change(found[0], found[-1]), remark, found[0], found[-1])
    return Cell("not found" if arm.samples and not any(path in one.lengths for one in arm.samples) else MISSING)


def entry_cell(arm: Arm, suspect: Suspect, verdict: RunVerdict) -> Cell:
    """Bytes of an entry, where this arm's verdict measured them."""
    process = process_verdict(verdict, arm.name, suspect.process)
    found = [one for one in process.suspects if one.fingerprint == suspect.fingerprint] if process else []
    same = next((one for one in found if one.path == suspect.path), None)
    return Cell(f"{at_least(same)}{small_size(same.bytes_per_entry)}", after=same.bytes_per_entry) if same else Cell("")


def freed_cell(arm: Arm, process: str, verdict: RunVerdict, name: str) -> Cell:
    """What collections or trims gave back: as reconciled, else the sum of the measured samples."""
    judged = process_verdict(verdict, arm.name, process)
    if judged and judged.reconciliation:
        value: float = getattr(judged.reconciliation, name)
        return Cell(size(value), after=value)
    measured = [one.values for one in span(arm.samples, process) if one.phase == MEASURED]
    found = [values[name] for values in measured if name in values]
    return Cell(size(sum(found)), after=sum(found)) if found else Cell(MISSING)


def throughput_cell(arm: Arm) -> Cell:
    """Requests a second under load, over the measured rounds."""
    value = throughput(measured_rounds(arm))
    return Cell(f"{count(value)} requests/s", after=value) if value is not None else Cell(MISSING)


def ratio_row(ratio: Ratio, columns: int) -> Row:
    """Throughput of the last arm over the first, from neighbouring pairs of blocks."""
    spread = f"{ratio.low:.3f} to {ratio.high:.3f}"
    return Row(
        "patched / unpatched, median of pairs",
        [*[Cell("")] * (columns - 1), Cell(f"{ratio.median:.3f} x", spread, after=ratio.median)],
    )
