# SPDX-License-Identifier: Apache-2.0
"""The builder on real environments with one tiny package, this one, in the place of an engine."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from vllm_soak.environments.builder import Blueprint, build, clear_leftovers, discard, python_in, sibling
from vllm_soak.environments.bundle import build_wheel
from vllm_soak.environments.environment_record import LOCK, read_record
from vllm_soak.environments.folder_lock import exclusive
from vllm_soak.environments.recipe import Recipe
from vllm_soak.environments.uv_tool import UvError, UvTool

Start = Callable[..., "subprocess.Popen[str]"]
Listing = Callable[[Path], set[str]]

# Builds argv[1] from the wheel argv[2], and sends itself the signal argv[4] at its line argv[3].
BUILD = """
import os, sys
from pathlib import Path
from vllm_soak.environments.builder import Blueprint, build, clear_leftovers
from vllm_soak.environments.folder_lock import exclusive
from vllm_soak.environments.recipe import Recipe
from vllm_soak.environments.uv_tool import UvTool
folder, wheel, fatal, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
lines = []
def say(line):
    lines.append(line)
    if len(lines) == fatal:
        os.kill(os.getpid(), number)
with exclusive(folder.parent / "lock", lambda: None) as lock:
    clear_leftovers(folder)
    build(Blueprint(folder, Recipe(wheel), "full", Path(sys.executable), "3"), UvTool(say, lock, folder.parent))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def blueprint(tmp_path: Path, wheel: Path) -> Blueprint:
    (tmp_path / "environments").mkdir()
    return Blueprint(
        tmp_path / "environments" / "tiny", Recipe(str(wheel)), "full", Path(sys.executable), platform.python_version()
    )


def make(blueprint: Blueprint) -> list[str]:
    """Build in this process; the lines that were said."""
    lines: list[str] = []
    with exclusive(blueprint.folder.parent / "x.lock", lambda: None) as lock:
        build(blueprint, UvTool(lines.append, lock, blueprint.folder.parent))
    return lines


def test_what_is_in_place_is_whole(blueprint: Blueprint, left_in: Listing) -> None:
    assert not blueprint.standing
    lines = make(blueprint)
    assert blueprint.standing
    assert left_in(blueprint.folder.parent) == {"tiny"}
    assert "vllm-soak" in (blueprint.folder / LOCK).read_text()
    record = read_record(blueprint.folder)
    assert record is not None
    assert (record.flavour, record.python, record.package) == ("full", platform.python_version(), "")
    assert any(line.startswith("Installed 1 package") for line in lines), "uv's own lines are shown"


def test_scripts_and_python_work_after_the_move(blueprint: Blueprint) -> None:
    make(blueprint)
    python = python_in(blueprint.folder)
    prefix = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], check=True, capture_output=True, text=True)
    assert prefix.stdout.strip() == str(blueprint.folder)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = subprocess.run(
        [blueprint.folder / "bin" / "vllm-soak"], env=kept, capture_output=True, text=True, check=False
    )
    assert script.returncode == 64, "the command says that the controller's dependencies are missing"
    assert "only `vllm-soak patches` works here" in script.stderr


def test_a_kill_at_any_line_leaves_nothing_in_use_and_the_next_attempt_clears_up(
    blueprint: Blueprint, controller: Start, left_in: Listing
) -> None:
    place, fatal, status, output = blueprint.folder.parent, 0, -signal.SIGKILL, ""
    while status == -signal.SIGKILL:
        fatal += 1
        arguments = (str(blueprint.folder), blueprint.recipe.requirement, str(fatal), str(signal.SIGKILL.value))
        child = controller(BUILD, *arguments)
        output, _ = child.communicate()
        status = child.returncode
        if status:
            assert not blueprint.folder.exists()
            assert not blueprint.standing
            assert len(left_in(place) - {"lock"}) <= 1, "leftovers do not pile up"
    assert status == 0, output
    assert fatal > 5, "the build says a line before each of its steps"
    assert blueprint.standing
    assert left_in(place) == {"tiny"} | ({"lock"} if (place / "lock").exists() else set())


def test_an_interrupt_at_any_line_leaves_nothing_at_all(
    blueprint: Blueprint, controller: Start, left_in: Listing
) -> None:
    place, fatal, status = blueprint.folder.parent, 0, 1
    while status:
        fatal += 1
        child = controller(
            BUILD, str(blueprint.folder), blueprint.recipe.requirement, str(fatal), str(signal.SIGINT.value)
        )
        output, _ = child.communicate()
        status = child.returncode
        if status:
            assert "KeyboardInterrupt" in output
            assert left_in(place) == {"lock"}
    assert fatal > 5
    assert blueprint.standing


def test_a_failure_keeps_what_stood_there(blueprint: Blueprint, left_in: Listing) -> None:
    make(blueprint)
    broken = replace(blueprint, recipe=Recipe("/no/such/thing-1.0-py3-none-any.whl"))
    assert not broken.standing
    with pytest.raises(UvError, match="thing"):
        make(broken)
    assert blueprint.standing
    assert left_in(blueprint.folder.parent) == {"tiny"}


def test_another_recipe_takes_the_place(blueprint: Blueprint, left_in: Listing) -> None:
    make(blueprint)
    (blueprint.folder / "mark").touch()
    other = replace(blueprint, recipe=Recipe(blueprint.recipe.requirement, ("torch==2.13.0",)))
    assert not other.standing
    make(other)
    assert other.standing
    assert not (blueprint.folder / "mark").exists()
    assert (blueprint.folder / "overrides.txt").read_text() == "torch==2.13.0\n"
    assert left_in(blueprint.folder.parent) == {"tiny"}


def test_an_environment_whose_base_python_is_gone_does_not_count(blueprint: Blueprint) -> None:
    make(blueprint)
    python_in(blueprint.folder).unlink()
    python_in(blueprint.folder).symlink_to("/gone/python")
    assert not blueprint.standing


def test_only_the_leftovers_of_one_environment_are_cleared(tmp_path: Path, left_in: Listing) -> None:
    for name in ("a-1.0", "a-1.0.1"):
        (sibling(tmp_path / name, ".partial") / "file").touch()
        (sibling(tmp_path / name, ".replaced") / "file").touch()
    (tmp_path / "a-1.0").mkdir()
    clear_leftovers(tmp_path / "a-1.0")
    assert "a-1.0" in left_in(tmp_path)
    assert len([name for name in left_in(tmp_path) if name.startswith(".a-1.0.1.")]) == 2
    assert len(left_in(tmp_path)) == 3


def test_discarding_removes_read_only_content_too(tmp_path: Path, left_in: Listing) -> None:
    folder = tmp_path / "tiny"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "file").touch(0o444)
    discard(folder)
    assert left_in(tmp_path) == set()
