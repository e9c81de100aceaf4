# SPDX-License-Identifier: Apache-2.0
"""This package's own files, as they are installed here, and what a distribution says of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import vllm_soak

DISTRIBUTION = "vllm-soak"
IMPORT_NAME = "vllm_soak"
SKIPPED_FOLDERS = ("__pycache__",)
# Kept equal to pyproject.toml by a test.
ENTRY_POINTS = """\
[console_scripts]
vllm-soak = vllm_soak.__main__:main

[vllm.general_plugins]
vllm_soak = vllm_soak.probe.plugin:load
"""
# No Requires-Dist: the part that runs inside an engine needs the standard library and the engine.
METADATA = f"""\
Metadata-Version: 2.1
Name: {DISTRIBUTION}
Version: {vllm_soak.__version__}
Summary: The part of vllm-soak that runs inside an engine
License: Apache-2.0
Requires-Python: >=3.10
"""


def package_folder() -> Path:
    """Where this package's files are."""
    return Path(vllm_soak.__file__).resolve().parent


def dist_info() -> str:
    """Name of the metadata folder."""
    return f"{IMPORT_NAME}-{vllm_soak.__version__}.dist-info"


def package_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file of the package, as (path inside the package, file), in a stable order.

    Links are followed, because the patches are reached through links in a source tree.
    Compiled files and hidden files stay behind, and so does a link that leads nowhere.
    """
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and not name.endswith(".pyc") and path.is_file():
                yield path.relative_to(folder).as_posix(), path


def content_hash() -> str:
    """A hash of the names and the contents of the package's files and of its metadata."""
    whole = hashlib.sha256((METADATA + ENTRY_POINTS).encode())
    for name, path in package_files(package_folder()):
        whole.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()
