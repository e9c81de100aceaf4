# SPDX-License-Identifier: Apache-2.0
"""`python -m vllm_soak.patched` where it cannot go on; with a real engine it runs in engines/mlx/test_server.py."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PACKAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "soak"
PROGRAM = """
import sys

def main():
    print(*sys.argv)
    return 7
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with an engine of a release that no patch knows, and a console script."""
    folder = tmp_path_factory.mktemp("engine") / "venv"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "vllm_mlx").mkdir()
    (site / "vllm_mlx" / "__init__.py").touch()
    (site / "program_of_engine.py").write_text(PROGRAM)
    info = site / "vllm_mlx-99.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm-mlx\nVersion: 99.0\n")
    (info / "entry_points.txt").write_text("[console_scripts]\nengine-of-test = program_of_engine:main\n")
    return folder / "bin" / "python"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the module with an interpreter."""

    def start(python: str | Path, *words: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
        line = [str(python), *flags, "-m", "vllm_soak.patched", *words]
        return subprocess.run(
            line, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )

    return start


def test_a_console_script_runs_with_its_arguments_and_exit_code(run: Run, python: Path) -> None:
    done = run(python, "--", "engine-of-test", "serve", "--port", "1")
    assert (done.returncode, done.stdout) == (7, "engine-of-test serve --port 1\n")


def test_every_patch_is_told_by_name(run: Run, python: Path) -> None:
    done = run(python, "engine-of-test")
    assert "vllm-soak patches for vllm_mlx 99.0: mtp-state not-needed (99.0 is outside of" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_script_runs_as_main(run: Run, python: Path, tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    assert run(python, str(script), "-x").stdout == "__main__ ['-x']\n"


def test_a_console_script_is_not_given_the_folder_that_it_is_started_in(run: Run, python: Path, tmp_path: Path) -> None:
    for module in ("program_of_engine", "vllm_mlx"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit(1)")
    assert run(python, "engine-of-test").returncode == 7


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows -P from 3.11 on")
def test_a_script_s_folder_stays_away_where_python_was_told_so(run: Run, python: Path, tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text("import sys\nprint(sys.path[0])\n")
    assert run(python, str(script)).stdout == f"{tmp_path}\n"
    assert run(python, str(script), flags=("-P",)).stdout == f"{PACKAGE}\n"


def test_a_module_runs_as_main(run: Run, python: Path) -> None:
    assert run(python, "-m", "calendar", "2026", "11").stdout.strip().startswith("November 2026")


@pytest.mark.parametrize("words", [(), ("--",), ("-m",), ("--", "-m")])
def test_without_a_program_its_use_is_shown(run: Run, python: Path, words: tuple[str, ...]) -> None:
    done = run(python, *words)
    assert (done.returncode, done.stderr.partition(":")[0]) == (64, "usage")


def test_a_program_that_is_not_there_is_named(run: Run, python: Path) -> None:
    done = run(python, "no-such-program")
    assert done.returncode == 64
    assert "'no-such-program' is neither a console script of" in done.stderr


@pytest.mark.parametrize("content", [b"#!/bin/sh\nexec rapid-mlx serve\n", b"\x7fELF\x02\x00"])
def test_a_file_that_is_no_python_source_is_named(run: Run, python: Path, tmp_path: Path, content: bytes) -> None:
    program = tmp_path / "program"
    program.write_bytes(content)
    done = run(python, str(program))
    assert done.returncode == 64
    assert f"vllm_soak.patched: '{program}' cannot be compiled as Python (" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_python_without_an_engine_is_named(run: Run) -> None:
    done = run(sys.executable, "rapid-mlx", "serve")
    assert done.returncode == 64
    assert "has no engine: run this with the engine's own Python" in done.stderr
