# SPDX-License-Identifier: Apache-2.0
"""An environment that a process runs from is not removed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from vllm_soak.environments.in_use import refuse_in_use, users_of
from vllm_soak.errors import UsageError


def test_a_process_of_the_environment_is_seen_while_it_runs(tmp_path: Path) -> None:
    folder, other = tmp_path / "engine-1.0", tmp_path / "engine-1.0.1"
    venv.create(folder, symlinks=True, with_pip=False)
    command = [str(folder / "bin" / "python"), "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert users_of(folder) == [process.pid]
        assert users_of(other) == []
        with pytest.raises(UsageError, match=f"in use by process {process.pid}: wait"):
            refuse_in_use(folder)
        process.communicate(b"\n")
    assert users_of(folder) == []
    refuse_in_use(folder)


def test_this_process_does_not_run_from_a_folder_of_like_name(tmp_path: Path) -> None:
    assert users_of(tmp_path / Path(sys.executable).name) == []
