# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import uv

from vllm_soak.environments.pip_settings import PipSettings, local_path, merge, read_pip_settings

Configured = Callable[..., PipSettings]


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    """What is read when pip has this configuration file and these variables, and no other of the user's."""

    def read(text: str = "", python: str = sys.executable, **variables: str) -> PipSettings:
        file = tmp_path / "pip.conf"
        file.write_text(text)
        bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": str(file)}
        return read_pip_settings({**bare, **variables}, python)

    return read


def pairs(settings: PipSettings) -> list[tuple[str, str]]:
    """Options with their values."""
    return list(zip(settings.arguments[::2], settings.arguments[1::2], strict=True))


def test_every_source_of_packages_is_passed_on(configured: Configured, tmp_path: Path) -> None:
    wheels, limits = tmp_path / "wheels", tmp_path / "limits.txt"
    wheels.mkdir()
    limits.touch()
    settings = configured(
        "[global]\n"
        "index-url = https://index.example/simple\n"
        f"constraint = {limits}\n"
        "trusted-host = index.example\n"
        "[install]\n"
        "extra-index-url =\n    https://one.example/simple\n    https://two.example/simple\n"
        f"find-links = {wheels} https://links.example/page.html\n"
    )
    assert set(pairs(settings)) >= {
        ("--default-index", "https://index.example/simple"),
        ("--index", "https://one.example/simple"),
        ("--index", "https://two.example/simple"),
        ("--index-strategy", "unsafe-best-match"),
        ("--find-links", str(wheels)),
        ("--find-links", "https://links.example/page.html"),
        ("--constraints", str(limits)),
        ("--allow-insecure-host", "index.example"),
    }


def test_local_places_that_are_not_there_are_left_out(configured: Configured, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    settings = configured(
        "[global]\n"
        f"index-url = file://{tmp_path}/gone/simple\n"
        f"extra-index-url = file://{tmp_path}/gone-too/simple {here.as_uri()}\n"
        f"find-links = {tmp_path}/nothing\n"
        f"cert = {tmp_path}/no.pem\n"
    )
    assert not [value for _, value in pairs(settings) if "gone" in value or "nothing" in value]
    assert ("--index", here.as_uri()) in pairs(settings)
    assert "SSL_CERT_FILE" not in settings.variables


def test_a_relative_or_home_folder_becomes_absolute(
    configured: Configured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wheels").mkdir()
    settings = configured(PIP_FIND_LINKS="wheels")
    assert ("--find-links", str(tmp_path / "wheels")) in pairs(settings)


def test_a_variable_of_pip_beats_its_file(configured: Configured) -> None:
    settings = configured("[global]\nindex-url = https://file.example\n", PIP_INDEX_URL="https://variable.example")
    assert [value for option, value in pairs(settings) if option == "--default-index"] == ["https://variable.example"]


def test_a_variable_of_uv_beats_pip(configured: Configured) -> None:
    settings = configured("[global]\nindex-url = https://file.example\n", UV_DEFAULT_INDEX="https://uv.example")
    assert "--default-index" not in settings.arguments


def test_certificates_proxy_and_patience_become_variables(configured: Configured, tmp_path: Path) -> None:
    bundle = tmp_path / "with space.pem"
    bundle.touch()
    settings = configured(f"[global]\ncert = {bundle}\nproxy = http://proxy.example:3128\ntimeout = 90\n")
    assert settings.variables == {
        "SSL_CERT_FILE": str(bundle),
        "ALL_PROXY": "http://proxy.example:3128",
        "UV_HTTP_TIMEOUT": "90",
    }
    own = configured(f"[global]\ncert = {bundle}\n", SSL_CERT_FILE="/own.pem")
    assert "SSL_CERT_FILE" not in own.variables


def test_without_pip_its_variables_still_count(configured: Configured, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([uv.find_uv_bin(), "venv", "--quiet", "--python", sys.executable, bare], check=True)
    settings = configured(
        "[global]\nindex-url = https://file.example\n",
        str(bare / "bin" / "python"),
        PIP_EXTRA_INDEX_URL="https://variable.example",
    )
    assert pairs(settings) == [("--index", "https://variable.example"), ("--index-strategy", "unsafe-best-match")]


def test_lines_that_are_no_settings_are_passed_over() -> None:
    listing = "WARNING: something\nglobal.timeout='5'\nbroken.line\nglobal.proxy=oops(\ndownload.timeout='9'\n"
    assert merge(listing) == {"timeout": "5"}


@pytest.mark.parametrize(
    ("value", "path"),
    [("file:///a%20b/c", Path("/a b/c")), ("/a/b", Path("/a/b")), ("https://x/y", None), ("git+ssh://x/y", None)],
)
def test_tells_local_from_remote(value: str, path: Path | None) -> None:
    assert local_path(value) == path
