# SPDX-License-Identifier: Apache-2.0
"""A source distribution brings everything that a wheel is built from."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "vllm-soak-runs", "*.so", "*.egg-info", "__pycache__", "tests")
NATIVE = {".c", ".h", ".cu", ".cuh", ".cmake"}


def test_a_source_distribution_brings_the_native_sources(tmp_path: Path) -> None:
    tree = shutil.copytree(ROOT, tmp_path / "tree", ignore=LEFT_OUT)
    subprocess.run(
        [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(tree)],
        check=True,
        capture_output=True,
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        brought = {Path(*Path(name).parts[1:]) for name in opened.getnames()}
    native = {one.relative_to(tree) for one in tree.rglob("*") if one.suffix in NATIVE}
    assert len(native) > 20
    assert native <= brought
    assert Path("CMakeLists.txt") in brought
    assert Path("benchmarks/soak/vllm_soak/py.typed") in brought
