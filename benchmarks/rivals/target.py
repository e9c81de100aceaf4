# SPDX-License-Identifier: Apache-2.0
"""The engine's process of one tool's test.

python -m rivals.target --tool NAME --plan JSON --tools FOLDER --result FILE
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rivals.registry import adapter_class


def main() -> None:
    """Build the engine and run the session on it."""
    parser = argparse.ArgumentParser(prog="python -m rivals.target")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--plan", type=json.loads, required=True)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--result", type=Path, required=True)
    given = parser.parse_args()
    # Last on the path: what the engine has wins over what a tool brought.
    sys.path.append(str(given.tools))
    build(given.tool, given.plan, given.result)


def build(tool: str, plan: dict[str, Any], result: Path) -> None:
    """Build the engine as the `inproc` driver does, and hand it to the session."""
    from rivals.session import Session
    from vllm_soak.engines import inproc, vllm_compat

    adapter = adapter_class(tool)
    vllm_compat.load_plugins()

    def serve(engine: Any) -> None:
        Session(engine, adapter, child=adapter.child, plan=plan, result=result).run()

    inproc.run({"model": plan["model"], "engine_args": plan["engine_args"]}, serve)


if __name__ == "__main__":
    main()
