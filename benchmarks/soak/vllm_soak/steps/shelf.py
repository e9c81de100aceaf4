# SPDX-License-Identifier: Apache-2.0
"""The files of one capture, and what is lacking among them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

# Command lines and logs of servers carry keys, and captures are passed on in reports of defects.
SECRET = re.compile(r"(--[\w-]*(?:key|token|secret|password)[= ]|'(?:api_key|hf_token)': )(\[[^\]]*\]|\S+)")


@dataclass(slots=True)
class Shelf:
    """The files of one capture.

    Args:
        folder: Where they go; made when the first one comes.
        files: Names of those that were written.
        notes: What could not be had.
    """

    folder: Path
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def put(self, name: str, content: str | bytes) -> None:
        """Write a file; one that is empty is left out, and one that cannot be written is noted."""
        if not content:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            data = content if isinstance(content, bytes) else redacted(content).encode("utf-8", "backslashreplace")
            (self.folder / name).write_bytes(data)
            self.files.append(name)
        except OSError as error:
            self.note(f"{name} could not be written ({error.strerror})")

    def note(self, text: str) -> None:
        """Remember what could not be had, once."""
        if text and text not in self.notes:
            self.notes.append(text)


def redacted(text: str) -> str:
    """Return a text without the values of options that name a key, token, secret or password."""
    return SECRET.sub(r"\1***", text)
