# SPDX-License-Identifier: Apache-2.0
"""The probe in programs that know nothing of an engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vllm_soak

PACKAGE = Path(vllm_soak.__file__).parents[1]
SCRIPT = """
import sys
print(__name__, __file__ == sys.argv[0], sys.argv[1:], sys.path[0])
"""


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(PACKAGE), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("wanted", "armed"), [({}, True), ({"VLLM_SOAK_PROBE": "0"}, False)])
def test_arm_listens_unless_the_environment_says_no(tmp_path: Path, wanted: dict[str, str], armed: bool) -> None:
    program = "from vllm_soak.probe import arm; print(arm(), arm())"
    said = python("-c", program, XDG_RUNTIME_DIR=str(tmp_path), **wanted).stdout.split()
    assert [one.startswith(str(tmp_path)) for one in said] == [armed, armed]
    assert said[0] == said[1]


def test_a_script_runs_as_if_the_probe_were_not_there(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = python("-m", "vllm_soak.probe", str(script), "--flag", XDG_RUNTIME_DIR=str(tmp_path))
    assert done.stdout == f"__main__ True ['--flag'] {tmp_path}\n", done.stderr


def test_a_module_runs_likewise(tmp_path: Path) -> None:
    done = python("-m", "vllm_soak.probe", "-m", "json.tool", "--help", XDG_RUNTIME_DIR=str(tmp_path))
    assert "json.tool" in done.stdout, done.stderr


def test_a_probe_without_a_program_says_how_it_is_used() -> None:
    done = python("-m", "vllm_soak.probe")
    assert done.returncode == 1
    assert done.stderr.startswith("usage: python -m vllm_soak.probe")


@pytest.mark.parametrize("arguments", [("nowhere.py",), ("-m", "no_such_module"), ("-m", "no.such.module")])
def test_a_program_that_is_not_there_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = python("-m", "vllm_soak.probe", *arguments, XDG_RUNTIME_DIR=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("vllm_soak.probe: ")
    assert done.stderr.count("\n") == 1


def test_a_package_runs_by_its_main(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "__init__.py").touch()
    (tmp_path / "tool" / "__main__.py").write_text("from . import __name__ as package\nprint(__name__, package)")
    paths = f"{PACKAGE}:{tmp_path}"
    done = python("-m", "vllm_soak.probe", "-m", "tool", XDG_RUNTIME_DIR=str(tmp_path), PYTHONPATH=paths)
    assert done.stdout == "__main__ tool\n", done.stderr


def test_the_programs_own_globals_are_named_as_such(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from vllm_soak.heap.census import Census\n"
        "kept, census = [], Census()\n"
        "census.take(baseline=True)\n"
        "kept.extend(range(1000))\n"
        "print(census.take()['populations'][0]['path'])\n"
    )
    done = python("-m", "vllm_soak.probe", str(script), XDG_RUNTIME_DIR=str(tmp_path))
    assert done.stdout == "__main__.kept\n", done.stderr
