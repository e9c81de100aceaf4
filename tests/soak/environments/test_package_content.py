# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import configparser
from email import message_from_string
from pathlib import Path

import pytest
import tomllib

import vllm_soak
from vllm_soak.environments.package_content import (
    ENTRY_POINTS,
    METADATA,
    content_hash,
    package_files,
    package_folder,
)

ROOT = Path(__file__).parents[3]


def test_entry_points_and_version_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parser = configparser.ConfigParser()
    parser.read_string(ENTRY_POINTS)
    assert dict(parser["console_scripts"]) == project["scripts"]
    assert dict(parser["vllm.general_plugins"]) == project["entry-points"]["vllm.general_plugins"]
    stated = message_from_string(METADATA)
    assert (stated["Name"], stated["Version"]) == (project["name"], project["version"])
    assert stated["Requires-Python"] == project["requires-python"]
    assert stated["Requires-Dist"] is None
    assert vllm_soak.__version__ == project["version"]


def test_links_are_followed_and_leftovers_stay_behind(tmp_path: Path) -> None:
    package, outside = tmp_path / "package", tmp_path / "outside"
    for folder in (package / "heap" / "__pycache__", package / "patches", package / ".git", outside / "v1"):
        folder.mkdir(parents=True)
    (package / "patches" / "vllm").symlink_to("../../outside")
    wanted = ["__init__.py", "py.typed", "heap/_idset.abi3.so", "patches/vllm/v1/scheduler.py"]
    unwanted = ["heap/__pycache__/a.cpython-311.pyc", "stale.pyc", ".git/config", ".editor.swp"]
    for name in [*wanted, *unwanted]:
        (package / name).write_text(name)
    found = dict(package_files(package))
    assert sorted(found) == sorted(wanted)
    assert all(path.read_text().endswith(name) for name, path in found.items())


def test_the_real_package_has_the_part_that_an_engine_loads() -> None:
    names = [name for name, _ in package_files(package_folder())]
    assert {"__init__.py", "errors.py", "py.typed", "store/record.py"} <= set(names)
    assert len(names) == len(set(names))


def test_the_hash_follows_names_and_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_soak.environments.package_content.package_folder", lambda: tmp_path)
    (tmp_path / "a.py").write_text("1")
    first = content_hash()
    assert content_hash() == first
    (tmp_path / "a.py").write_text("2")
    second = content_hash()
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, content_hash()}) == 3


def test_a_link_that_leads_nowhere_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    assert [name for name, _ in package_files(tmp_path)] == ["there.py"]
