# SPDX-License-Identifier: Apache-2.0
"""Put this package into an engine's interpreter: as a wheel, or as a folder for PYTHONPATH."""

from __future__ import annotations

import base64
import hashlib
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

    The interpreter that runs with it stays untouched. A second call renews the folder's content.

    Args:
        folder: The folder; made when missing.

    Returns:
        The folder's absolute path.
    """
    info = folder / dist_info()
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(METADATA, encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    link = folder / IMPORT_NAME
    link.unlink(missing_ok=True)
    link.symlink_to(package_folder(), target_is_directory=True)
    return folder.absolute()
