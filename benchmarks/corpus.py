# SPDX-License-Identifier: Apache-2.0
"""Soak real defects of released engines, their controls, and what only looks like a leak; check every verdict.

    python benchmarks/corpus.py [case ...]

A case is named like `lora-stats/0.11.0`; `lora-stats` is all of them. Each runs the released wheel under the
harness's own rounds, probe, store and verdict, in an environment that the harness makes and caches. Prints a table and
writes `corpus.json` and `corpus.md` beside the run folders. The exit code is 0 when every verdict is right.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from corpus.case import Case
from corpus.cases import CASES
from corpus.row import Row, failed_row, row_of
from corpus.session import soak_case
from corpus.table import markdown
from rich.console import Console

from vllm_soak.errors import ExitCode, SoakError
from vllm_soak.report.document import sections
from vllm_soak.store.reader import read_run
from vllm_soak.verdict.series import measured_rounds

WIDTH = 120


def chosen(names: list[str]) -> list[Case]:
    """The cases that were asked for, all when none was.

    Raises:
        SystemExit: A name is no case's.
    """
    known = {case.name for case in CASES} | {case.defect for case in CASES}
    if unknown := [name for name in names if name not in known]:
        print(f"there is no case {unknown[0]!r}: use one of {', '.join(sorted(known))}.", file=sys.stderr)
        raise SystemExit(ExitCode.USAGE)
    return [case for case in CASES if not names or case.name in names or case.defect in names]


def run_case(case: Case, out: Path) -> Row:
    """Soak one case; its report as printed is kept beside its run folder."""
    folder = out / case.name.replace("/", "-")
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    with (out / f"{folder.name}.txt").open("w", encoding="utf-8") as log:
        try:
            finished = soak_case(case, folder, Console(file=log, width=WIDTH))
        except SoakError as error:
            return failed_row(case, str(error), time.monotonic() - began)
    seconds, run = time.monotonic() - began, read_run(folder)
    arm = run.arms[0]
    if arm.failure:
        return failed_row(case, arm.failure, seconds)
    sentences = [line for one in sections(run, finished.verdict) for line in one.lines]
    return row_of(case, finished.verdict, sum(one.requests for one in measured_rounds(arm)), seconds, sentences)


def write(rows: list[Row], out: Path) -> None:
    """Write the table and its JSON; done after every case, so that one that hangs costs no other."""
    found = {"date": datetime.now(UTC).isoformat(timespec="minutes"), "rows": [row.as_json() for row in rows]}
    (out / "corpus.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (out / "corpus.md").write_text(markdown(rows), encoding="utf-8")


def main() -> int:
    """Read the command line, run the cases, print the table; answer the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="case", help="all by default")
    parser.add_argument("--out", type=Path, default=Path("vllm-soak-runs/corpus"))
    parser.add_argument("--list", action="store_true", help="name the cases and what is expected of them")
    arguments = parser.parse_args()
    cases = chosen(arguments.cases)
    if arguments.list:
        print("\n".join(f"{case.name}: {case.expected.outcomes[0].value}" for case in cases))
        return 0
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for case in cases:
        print(f"{case.name} ({case.engine})", flush=True)
        rows.append(run_case(case, out))
        print(f"  {rows[-1].outcome}: {rows[-1].reason}", flush=True)
        write(rows, out)
    print(markdown(rows))
    return 0 if all(row.right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
