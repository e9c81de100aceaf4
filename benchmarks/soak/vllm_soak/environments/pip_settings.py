# SPDX-License-Identifier: Apache-2.0
"""pip's own configuration in uv's terms: uv reads none of it, and users expect it to hold."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

# pip setting: uv's option, and the variable with which a user speaks to uv directly. That one wins.
OPTIONS = {
    "index-url": ("--default-index", "UV_DEFAULT_INDEX"),
    "extra-index-url": ("--index", "UV_INDEX"),
    "find-links": ("--find-links", "UV_FIND_LINKS"),
    "constraint": ("--constraints", "UV_CONSTRAINT"),
    "trusted-host": ("--allow-insecure-host", "UV_INSECURE_HOST"),
}
VARIABLES = {"cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY", "timeout": "UV_HTTP_TIMEOUT"}
SINGLE = ("index-url",)
LOCATIONS = ("index-url", "extra-index-url", "find-links", "constraint", "cert")
# pip's precedence among sections; the later wins.
SECTIONS = ("global", "install", ":env:")
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class PipSettings:
    """What pip is configured with, for a uv process.

    Args:
        arguments: Options for `uv pip install`.
        variables: Environment variables to add.
    """

    arguments: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def read_pip_settings(environ: Mapping[str, str] = os.environ, python: str = sys.executable) -> PipSettings:
    """Translate the configuration of the pip of `python`; without a pip, its variables alone count.

    Args:
        environ: Environment that pip is asked in.
        python: The interpreter whose pip is asked.
    """
    settings = configured(environ, python)
    arguments = [part for key in OPTIONS for part in options(key, settings.get(key, ""), environ)]
    variables = {
        name: value
        for key, name in VARIABLES.items()
        for value in usable(key, settings.get(key, ""))
        if not environ.get(name)
    }
    return PipSettings(tuple(arguments), variables)


def configured(environ: Mapping[str, str], python: str) -> dict[str, str]:
    """Settings of pip by long option name, merged by pip's precedence."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=dict(environ))
    except (OSError, subprocess.SubprocessError):
        return from_variables(environ)
    return merge(done.stdout)


def from_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings that PIP_* variables make: `PIP_FIND_LINKS` is `find-links`."""
    return {
        normal(name.removeprefix("PIP_")): value for name, value in environ.items() if name.startswith("PIP_") and value
    }


def merge(listing: str) -> dict[str, str]:
    """Read the lines `section.name='value'` of `pip config list`."""
    found: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listing.splitlines():
        key, _, text = line.partition("=")
        section, _, name = key.strip().rpartition(".")
        if section in found and (value := literal(text)):
            found[section][normal(name)] = value
    return {name: value for section in SECTIONS for name, value in found[section].items()}


def literal(text: str) -> str:
    """The string that pip printed as a Python literal, or an empty one."""
    try:
        return str(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError):
        return ""


def normal(name: str) -> str:
    """The name that pip gives a setting: lower case, dashes, without the prefix that makes a default of it."""
    return name.lower().replace("_", "-").removeprefix("default-")


def options(key: str, text: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The options of uv for one of pip's settings."""
    option, variable = OPTIONS[key]
    values = [] if environ.get(variable) else list(usable(key, text))
    for value in values[-1:] if key in SINGLE else values:
        yield from (option, value)
    if key == "extra-index-url" and values:
        # pip takes the best release of all indexes, uv by default the first index that has the name.
        yield from ("--index-strategy", "unsafe-best-match")


def usable(key: str, text: str) -> Iterator[str]:
    """The values of a setting, without those that point to a local file or folder that is not there."""
    for value in text.split() if key != "cert" else [text] * bool(text):
        if key not in LOCATIONS or (path := local_path(value)) is None:
            yield value
        elif path.exists():
            # Absolute, because uv runs in another folder; a file URL is one already.
            yield value if value.startswith("file:") else str(path)


def local_path(value: str) -> Path | None:
    """The local path that a location means, or None for a remote one."""
    parts = urlsplit(value)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    return None if "://" in value else Path(value).expanduser().absolute()
