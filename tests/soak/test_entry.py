# SPDX-License-Identifier: Apache-2.0
"""The command where only the in-engine part is installed, as in a serving image."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import vllm_soak

# `-S -I` with one folder on the path: an interpreter that has this package and the standard library only.
BARE = """
import sys
sys.path.insert(0, {folder!r})
sys.argv = ["vllm-soak", *{arguments!r}]
from vllm_soak.__main__ import main
main()
"""


def bare(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = BARE.format(folder=str(Path(vllm_soak.__file__).parents[1]), arguments=list(arguments))
    command = [sys.executable, "-S", "-I", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_patches_answers_without_any_dependency() -> None:
    done = bare("patches")
    assert done.returncode == 64
    assert "vllm is not installed for" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_other_command_says_what_it_needs() -> None:
    done = bare("run")
    assert done.returncode == 64
    assert "only `vllm-soak patches` works here" in done.stderr
    assert "cyclopts" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_module_form_is_the_same_command() -> None:
    command = [sys.executable, "-m", "vllm_soak", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == vllm_soak.__version__
