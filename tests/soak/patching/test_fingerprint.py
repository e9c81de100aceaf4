# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.patching.fingerprint import digest, fingerprint, table

CODE = "def f(x):\n    if x:\n        return 1\n    return 2\n"


@given(st.integers(0, 3), st.sampled_from(["", " ", "\t"]))
def test_indentation_and_blanks_at_line_ends_do_not_count(levels: int, blank: str) -> None:
    moved = "".join("    " * levels + line + blank + "\n" for line in CODE.splitlines())
    assert digest(moved) == digest(CODE)


@given(st.integers(0, len(CODE.rstrip()) - 1))
def test_any_other_change_counts(place: int) -> None:
    changed = CODE[:place] + "#" + CODE[place:]
    assert digest(changed) != digest(CODE)


def test_methods_differ(engine: ModuleType) -> None:
    functions = [engine.Engine.first, engine.Engine.second, engine.Engine.fixed, engine.alone]
    assert len({fingerprint(function) for function in functions}) == len(functions)


def test_wrapper_has_the_fingerprint_of_what_it_wraps(engine: ModuleType, make_target: Any) -> None:
    original = engine.Engine.first
    assert fingerprint(make_target("Engine.first").build(original)) == fingerprint(original)


def test_without_source() -> None:
    space: dict[str, Any] = {}
    exec(CODE, space)
    with pytest.raises(OSError, match="source"):
        fingerprint(space["f"])
    with pytest.raises(TypeError):
        fingerprint(len)


def test_table_is_by_release() -> None:
    assert table({"aa": "1.0 1.1", "bb": "2.0"}) == {"1.0": "aa", "1.1": "aa", "2.0": "bb"}


def test_script_without_an_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vllm_soak.patching.fingerprint"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == "No engine is installed for this Python: run it with the engine's interpreter.\n"
