# SPDX-License-Identifier: Apache-2.0
"""`python -m vllm_soak.probe SCRIPT [ARGUMENTS]` (or `-m MODULE`): run a program with the probe in it.

Not with runpy: its frames would hold the program's namespace under names of their own, and paths begin at frames.
"""

from __future__ import annotations

import importlib.util
import io
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from vllm_soak.probe import arm

USAGE = "usage: python -m vllm_soak.probe [-m MODULE | SCRIPT] [ARGUMENTS...]"


def main(arguments: list[str]) -> None:
    """Arm the probe, then become the program: same arguments, same `__main__`, same import path.

    Raises:
        SystemExit: There is no program to run; whatever the program itself raises passes through.
    """
    as_module = arguments[:1] == ["-m"]
    program = arguments[1:] if as_module else arguments
    if not program:
        sys.exit(USAGE)
    arm()
    sys.argv[:] = program
    become(*(module_named(program[0]) if as_module else script_at(program[0])))


def script_at(path: str) -> tuple[Any, dict[str, Any]]:
    """A script's code, and the names that its namespace begins with; its folder comes first on the import path."""
    come_first(str(Path(path).resolve().parent))
    try:
        with io.open_code(str(Path(path).resolve())) as source:
            return compile(source.read(), path, "exec"), {"__file__": path}
    except OSError as error:
        sys.exit(f"vllm_soak.probe: cannot open {path} ({error.strerror}): give the path of a Python script.")


def come_first(folder: str) -> None:
    """Put a program's folder where the start of this module has put another one; `-P` and `-I` want neither."""
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = folder


def module_named(name: str) -> tuple[Any, dict[str, Any]]:
    """Likewise of a module, or of a package's `__main__`."""
    spec = _spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec(f"{name}.__main__")
    code = getattr(spec.loader, "get_code", lambda _: None)(spec.name) if spec else None
    if spec is None or code is None:
        sys.exit(f"vllm_soak.probe: there is no module {name} to run: check its name and PYTHONPATH.")
    sys.argv[0] = str(spec.origin)
    known = {"__file__": spec.origin, "__spec__": spec, "__loader__": spec.loader, "__package__": spec.parent}
    return code, known


def become(code: Any, names: dict[str, Any]) -> None:
    """Run code as `__main__`. No local of this frame leads to its namespace."""
    sys.modules["__main__"] = ModuleType("__main__")
    vars(sys.modules["__main__"]).update(names)
    exec(code, vars(sys.modules["__main__"]))  # noqa: S102 - running a program is what this is for


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
