# SPDX-License-Identifier: Apache-2.0
"""Server-sent events from the chunks in which they arrive."""

from __future__ import annotations

LONGEST_LINE = 16 << 20
DONE = b"[DONE]"
_FIELD = b"data:"


class EventSplitter:
    """Cuts chunks into the data of events; an event here is one `data:` line, as OpenAI's servers send them."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every line that this chunk ends.

        Raises:
            ValueError: A line has no end.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            raise ValueError(f"a line of the stream is longer than {LONGEST_LINE >> 20} MiB")
        return [line[len(_FIELD) :].strip() for line in lines if line.startswith(_FIELD)]
