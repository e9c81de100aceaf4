# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from vllm_soak.errors import StoreError


def write_atomic(path: Path, content: str | bytes) -> Path:
    """Write a file under a temporary name beside it, then rename it into place.

    Raises:
        StoreError: The folder is read-only, missing, or its disk is full.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    spare = ""
    try:
        handle, spare = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(spare).chmod(0o644)
        Path(spare).replace(path)
    except OSError as error:
        forget(spare)
        raise StoreError(
            f"cannot write {path} ({(error.strerror or str(error)).lower()})",
            "free space there or give a folder that can be written",
        ) from error
    return path


def forget(spare: str) -> None:
    """Remove what was left of a file that could not be finished."""
    if spare:
        Path(spare).unlink(missing_ok=True)
