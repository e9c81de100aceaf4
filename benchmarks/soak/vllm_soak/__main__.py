# SPDX-License-Identifier: Apache-2.0
"""The `vllm-soak` command, also where only the in-engine part is installed.

A serving image gets this package without the controller's dependencies. `vllm-soak patches`
still answers there, from the standard library; every other command says what it needs.
"""

from __future__ import annotations

import importlib.util
import sys

CONTROLLER_NEEDS = ("cyclopts", "jinja2", "matplotlib", "numpy", "packaging", "psutil", "rich", "scipy", "uv")


def missing_dependencies() -> list[str]:
    """Name the controller's dependencies that this interpreter lacks."""
    return [name for name in CONTROLLER_NEEDS if importlib.util.find_spec(name) is None]


def main() -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:]
    lacking = missing_dependencies()
    if not lacking:
        from vllm_soak.cli import run_command_line

        sys.exit(run_command_line(arguments))
    if arguments[:1] == ["patches"]:
        from vllm_soak.patching.__main__ import main as show_patches

        sys.exit(show_patches(arguments[1:]))
    sys.exit(refuse(lacking))


def refuse(lacking: list[str]) -> int:
    """Say on stderr why only `patches` works here; return the exit code for wrong usage."""
    print(
        f"vllm-soak: only `vllm-soak patches` works here, since {', '.join(lacking)} cannot be imported: "
        "install the same wheel without --no-deps, with Python 3.11 or later.",
        file=sys.stderr,
    )
    return 64


if __name__ == "__main__":
    main()
