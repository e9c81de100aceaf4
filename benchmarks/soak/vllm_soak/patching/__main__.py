# SPDX-License-Identifier: Apache-2.0
"""`python -m vllm_soak.patching`: what becomes of each patch on the engine of this interpreter.

The patches are applied in this process only, which then ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from dataclasses import replace
from typing import NoReturn

from vllm_soak.errors import ExitCode
from vllm_soak.patching.apply import apply_selected
from vllm_soak.patching.engine import installed_release
from vllm_soak.patching.registry import by_name, known
from vllm_soak.patching.selection import VARIABLE, left_out_by_engine, unknown_names
from vllm_soak.patching.status import PatchStatus, Status, row
from vllm_soak.patching.verify import defect

_COLUMNS = ("name", "upstream", "affected", "status", "defect", "reason")
_Row = dict[str, str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}: see --help.\n")


def main(arguments: list[str] | None = None) -> int:
    """Print the table; give the exit code."""
    options = _options(arguments)
    # Engines write their log to standard output, which is the answer's.
    with contextlib.redirect_stdout(sys.stderr):
        if options.scheduler_only:
            _mend_torch()
        version = installed_release(options.engine)
        rows = _rows(options.engine, verify=options.verify) if version is not None else []
    if version is None:
        sys.stderr.write(
            f"{options.engine} is not installed for {sys.executable}: run this with the engine's interpreter.\n"
        )
        return ExitCode.USAGE
    sys.stdout.write(json.dumps(rows) + "\n" if options.json else _table(f"{options.engine} {version}", rows))
    wrong = unknown_names(os.environ.get(VARIABLE, ""), known(options.engine))
    if wrong:
        sys.stderr.write(f"{wrong}\n")
    return ExitCode.USAGE if wrong else ExitCode.CLEAN


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="python -m vllm_soak.patching", description=__doc__)
    parser.add_argument("--engine", default="vllm", help="import name of the engine")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    parser.add_argument("--verify", action="store_true", help="run each behaviour check on a real scheduler")
    parser.add_argument(
        "--scheduler-only", action="store_true", help="this environment's torch is not the one that the engine wants"
    )
    return parser.parse_args(arguments)


def _mend_torch() -> None:
    # As in `verify.py`: only this query looks back at the driver, which knows what old releases lack.
    from vllm_soak.engines.vllm_compat import mend_torch

    mend_torch()


def _rows(engine: str, *, verify: bool) -> list[_Row]:
    left_out = left_out_by_engine(os.environ)
    if left_out:
        # What vLLM never loads is not applied, whatever this process could do.
        return [
            _row(replace(status, status=Status.DISABLED, reason=left_out), verify=False) for status in _asked(engine)
        ]
    return [_row(status, verify=verify) for status in _asked(engine)]


def _asked(engine: str) -> list[PatchStatus]:
    return apply_selected(engine=engine, announce=False)


def _row(status: PatchStatus, *, verify: bool) -> _Row:
    found = row(status, "query")
    return {**found, "defect": defect(by_name(status.name))} if verify else found


def _table(title: str, rows: list[_Row]) -> str:
    columns = [column for column in _COLUMNS if any(column in found for found in rows)]
    lines = [[column.upper() for column in columns], *([found[column] for column in columns] for found in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    text = "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return f"{title}\n{text}\n"


if __name__ == "__main__":
    raise SystemExit(main())
