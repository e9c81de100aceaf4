# SPDX-License-Identifier: Apache-2.0
"""Put this package into an engine's interpreter: as a wheel, or as a folder for PYTHONPATH."""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import vllm_soak
from vllm_soak.environments.package_content import (
    ENTRY_POINTS,
    IMPORT_NAME,
    METADATA,
    dist_info,
    package_files,
    package_folder,
)

WHEEL = """\
Wheel-Version: 1.0
Generator: vllm-soak
Root-Is-Purelib: true
Tag: py3-none-any
"""
# The same content gives the same wheel, byte for byte: the oldest date that a zip can hold.
DATE = (1980, 1, 1, 0, 0, 0)
MODE = 0o644


def build_wheel(out_dir: Path) -> Path:
    """Write a wheel of this package's own files, without any dependency.

    A compiled file of the stable ABI goes in as well: the wheel is for this machine alone, so its
    pure tag does no harm.

    Args:
        out_dir: Folder for the wheel; made when missing.

    Returns:
        The wheel.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    wheel = out_dir / f"{IMPORT_NAME}-{vllm_soak.__version__}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in wheel_files():
            write(archive, name, data)
            record.append(record_line(name, data))
        name = f"{dist_info()}/RECORD"
        write(archive, name, "".join([*record, f"{name},,\n"]).encode())
    return wheel


def wheel_files() -> Iterator[tuple[str, bytes]]:
    """Every file of the wheel but RECORD, in the order of the archive."""
    for name, path in package_files(package_folder()):
        yield f"{IMPORT_NAME}/{name}", path.read_bytes()
    yield f"{dist_info()}/METADATA", METADATA.encode()
    yield f"{dist_info()}/WHEEL", WHEEL.encode()
    yield f"{dist_info()}/entry_points.txt", ENTRY_POINTS.encode()


def write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Add a file with a fixed date and mode."""
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = MODE << 16
    archive.writestr(entry, data)


def record_line(name: str, data: bytes) -> str:
    """A line of RECORD: name, hash, size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def overlay(folder: Path) -> Path:
    """Make a folder for PYTHONPATH that shows this package and its entry points, and nothing else.

    The interpreter that runs with it stays untouched. What is in the folder already as it should be is not
    touched, since an engine may be running with it; the rest is replaced in one step a file.

    Args:
        folder: The folder; made when missing.

    Returns:
        The folder's absolute path.
    """
    info = folder / dist_info()
    info.mkdir(parents=True, exist_ok=True)
    put(info / "METADATA", METADATA)
    put(info / "entry_points.txt", ENTRY_POINTS)
    point(folder / IMPORT_NAME, package_folder())
    return folder.absolute()


def put(path: Path, text: str) -> None:
    """Have a file hold a text; no reader sees a part of it."""
    if path.is_file() and path.read_bytes() == text.encode():
        return
    new = beside(path)
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def point(link: Path, target: Path) -> None:
    """Have a symbolic link lead to a folder; no reader finds it absent."""
    if link.is_symlink() and link.readlink() == target:
        return
    new = beside(link)
    new.symlink_to(target, target_is_directory=True)
    new.replace(link)


def beside(path: Path) -> Path:
    """An unused name in the same folder, for this process alone."""
    name = path.with_name(f".{path.name}.{os.getpid()}")
    name.unlink(missing_ok=True)
    return name
