# SPDX-License-Identifier: Apache-2.0
"""The engine's process: builds one engine, and gives each tool a fork of it.

    python -m rivals.target --tools NAME... --plan JSON --packages FOLDER --out FOLDER --limit SECONDS --seconds SECONDS

All tools begin with the same warm engine, and none sees what another one left. An engine whose core runs in a
child process cannot be forked: its one tool runs in this process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rivals.forked import fork
from rivals.registry import TOOLS, adapter_class

BEGAN = time.monotonic()


def main() -> None:
    """Build the engine and run a session for each tool."""
    parser = argparse.ArgumentParser(prog="python -m rivals.target")
    parser.add_argument("--tools", nargs="+", required=True)
    parser.add_argument("--plan", type=json.loads, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True, help="after which no tool is begun")
    given = parser.parse_args()
    # Last on the path: what the engine has wins over what a tool brought.
    sys.path.append(str(given.packages))
    build(given)


def build(given: argparse.Namespace) -> None:
    """Build the engine as the `inproc` driver does, and hand it to the sessions."""
    from vllm_soak.engines import inproc, vllm_compat

    vllm_compat.load_plugins()

    def serve(engine: Any) -> None:
        if adapter_class(given.tools[0]).child:
            (given.out / given.tools[0]).mkdir(exist_ok=True)
            session(given.tools[0], engine, given)()
            return
        for name in given.tools:
            if time.monotonic() - BEGAN > given.seconds:
                return
            forked(name, session(name, engine, given), given)

    inproc.run({"model": given.plan["model"], "engine_args": given.plan["engine_args"]}, serve)


def session(name: str, engine: Any, given: argparse.Namespace) -> Callable[[], None]:
    """One tool's session, to be run in the process where it belongs."""

    def run() -> None:
        from rivals.session import Session

        if TOOLS[name].ours and not adapter_class(name).child:
            arm(given.out / "probe")
        Session(engine, adapter_class(name), plan=given.plan, result=given.out / name / "result.json").run()

    return run


def arm(folder: Path) -> None:
    """Start the probe, in the process of our own tool only."""
    from vllm_soak.probe import server

    os.environ["VLLM_SOAK_PROBE"] = str(folder)
    server.arm()


def forked(name: str, run: Callable[[], None], given: argparse.Namespace) -> None:
    """Run a session in a fork; how it failed goes beside its result."""
    folder = given.out / name
    folder.mkdir(exist_ok=True)
    failure = fork(run, folder / "log", given.limit)
    if failure:
        (folder / "failure").write_text(failure, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Exception:  # noqa: BLE001 - engines leave threads behind that would keep a failed process alive
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
