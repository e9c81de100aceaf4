# SPDX-License-Identifier: Apache-2.0
"""Long columns of unsigned integers in memory of their own, which goes back to the system when dropped.

An `array` of megabytes comes from the C library's heap. Freed, it stays with the process at the top of the
calling thread's arena, where `malloc_trim` does not reach: memory in use would then move by megabytes from
census to census, which is what a soak measures. A mapping leaves no trace.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SIZES = {"Q": 8, "I": 4, "H": 2}
_FIRST = 1 << 14


class Column:
    """A growing sequence of numbers of one size.

    Args:
        code: `Q`, `I` or `H` as in `array`: 8, 4 or 2 bytes.
        values: What it begins with.
        capacity: Numbers to make room for at first.
    """

    __slots__ = ("_length", "_map", "_size", "code", "view")

    def __init__(self, code: str, values: Iterable[int] = (), capacity: int = _FIRST) -> None:
        self.code = code
        self._size = _SIZES[code]
        self._length = 0
        self._map, self.view = self._room(max(capacity, 1))
        for value in values:
            self.append(value)

    def append(self, value: int) -> None:
        """Add a number at the end."""
        try:
            self.view[self._length] = value
        except IndexError:
            self._grow()
            self.view[self._length] = value
        self._length += 1

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: int) -> int:
        if not 0 <= at < self._length:
            raise IndexError(at)
        return self.view[at]

    def __iter__(self) -> Iterator[int]:
        return iter(self.view[: self._length])

    def _grow(self) -> None:
        fresh, view = self._room(len(self.view) * 2)
        view[: self._length] = self.view
        self.view.release()
        self._map.close()
        self._map, self.view = fresh, view

    def _room(self, capacity: int) -> tuple[mmap.mmap, memoryview[int]]:
        space = mmap.mmap(-1, capacity * self._size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return space, memoryview(space).cast(self.code)  # type: ignore[call-overload]
