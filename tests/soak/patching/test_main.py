# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def query(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    folders = [*([str(path)] if path else []), *sys.path]
    return subprocess.run(
        [sys.executable, "-m", "vllm_soak.patching", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
    )


def fake_release(folder: Path, version: str) -> Path:
    """A package of the engine's name that has nothing but a version, as far as the patch can see."""
    (folder / "vllm").mkdir()
    (folder / "vllm" / "__init__.py").write_text(f"__version__ = {version!r}\n", encoding="utf-8")
    return folder


def test_without_an_engine_it_says_so() -> None:
    done = query("--engine", "no_such_engine")
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == (
        f"no_such_engine is not installed for {sys.executable}: run this with the engine's interpreter.\n"
    )


def test_wrong_flag() -> None:
    done = query("--jsno")
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == "python -m vllm_soak.patching: unrecognized arguments: --jsno: see --help.\n"


def test_table(tmp_path: Path) -> None:
    done = query(path=fake_release(tmp_path, "0.26.0"))
    assert done.returncode == 0
    title, heads, *rows = done.stdout.splitlines()
    assert title == "vllm 0.26.0"
    assert heads.split() == ["NAME", "UPSTREAM", "AFFECTED", "STATUS", "REASON"]
    (row,) = (row for row in rows if row.startswith("new-block-ids "))
    assert "  vLLM PR 44490, issue 44175  " in row
    assert "  not-needed  " in row
    assert row.split("  ")[-1].strip().startswith("0.26.0 is outside of ")


def test_package_without_the_target_has_drifted(tmp_path: Path) -> None:
    done = query("--json", path=fake_release(tmp_path, "0.25.1"))
    assert done.returncode == 0
    assert '"status": "drifted"' in done.stdout
    assert "does not resolve (No module named 'vllm.v1')" in done.stdout
