# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import os
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest
import uv

import vllm_soak
from vllm_soak.environments.bundle import build_wheel, overlay
from vllm_soak.environments.package_content import dist_info, package_files, package_folder

LOOK = """
from importlib.metadata import distribution, entry_points
point, = entry_points(group="vllm.general_plugins", name="vllm_soak")
assert point.value == "vllm_soak.probe.plugin:load", point
import vllm_soak, vllm_soak.store.record
print(distribution("vllm-soak").version, vllm_soak.__file__)
"""


def test_every_file_is_recorded_with_its_hash(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path / "new" / "folder")
    assert wheel.name == f"vllm_soak-{vllm_soak.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        rows = list(csv.reader(archive.read(f"{dist_info()}/RECORD").decode().splitlines()))
        assert [name for name, _, _ in rows] == archive.namelist()
        for name, stated, size in rows[:-1]:
            data = archive.read(name)
            assert stated == "sha256=" + urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            assert int(size) == len(data)
        inside = {name for name in archive.namelist() if name.startswith("vllm_soak/")}
    assert inside == {f"vllm_soak/{name}" for name, _ in package_files(package_folder())}


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    assert build_wheel(tmp_path / "a").read_bytes() == build_wheel(tmp_path / "b").read_bytes()


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without pip and without the package's dependencies, as an engine's is to us."""
    folder = tmp_path_factory.mktemp("bare") / "env"
    subprocess.run([uv.find_uv_bin(), "venv", "--quiet", "--python", sys.executable, folder], check=True)
    return folder / "bin" / "python"


def look(python: Path, folder: Path, **variables: str) -> list[str]:
    """Version and place of the package as that Python sees it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = {**kept, **variables}
    done = subprocess.run([python, "-c", LOOK], env=environment, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.split(maxsplit=1)


def test_an_installed_wheel_shows_its_plugin(bare_python: Path, tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    command = [uv.find_uv_bin(), "pip", "install", "--quiet", "--offline", "--python", str(bare_python), str(wheel)]
    subprocess.run(command, check=True)
    version, file = look(bare_python, tmp_path)
    assert version == vllm_soak.__version__
    assert Path(file.strip()).is_relative_to(bare_python.parents[1])
    subprocess.run([uv.find_uv_bin(), "pip", "uninstall", "--quiet", "--python", bare_python, "vllm-soak"], check=True)


def test_an_overlay_shows_its_plugin_and_holds_nothing_else(bare_python: Path, tmp_path: Path) -> None:
    folder = overlay(tmp_path / "overlay")
    assert {path.name for path in folder.iterdir()} == {"vllm_soak", dist_info()}
    assert (folder / "vllm_soak").resolve() == package_folder()
    version, file = look(bare_python, tmp_path, PYTHONPATH=str(folder))
    assert version == vllm_soak.__version__
    assert Path(file.strip()).parent == folder / "vllm_soak"


def test_an_overlay_is_renewed(tmp_path: Path) -> None:
    folder = overlay(tmp_path)
    (folder / "vllm_soak").unlink()
    (folder / "vllm_soak").symlink_to("/gone")
    (folder / dist_info() / "entry_points.txt").write_text("")
    overlay(tmp_path)
    assert (folder / "vllm_soak").resolve() == package_folder()
    assert "vllm.general_plugins" in (folder / dist_info() / "entry_points.txt").read_text()


def identities(folder: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of change of everything below a folder, itself included."""
    found = {path: path.lstat() for path in [folder, *folder.rglob("*")]}
    return {str(path): (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}


def test_a_complete_overlay_is_not_touched(tmp_path: Path) -> None:
    before = identities(overlay(tmp_path))
    assert len(before) == 5
    overlay(tmp_path)
    assert identities(tmp_path) == before


def test_what_an_interrupted_call_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / f".vllm_soak.{os.getpid()}").symlink_to("/gone")
    overlay(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"vllm_soak", dist_info()}


def test_an_overlay_given_relative_is_answered_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert overlay(Path("here")) == tmp_path / "here"
