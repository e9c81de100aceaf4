# SPDX-License-Identifier: Apache-2.0
"""Generators that are dropped when they are done, three requests late."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

STREAMS: dict[int, Iterator[int]] = {}
IDS = itertools.count()


def stream() -> Iterator[int]:
    yield from range(3)


def step() -> None:
    STREAMS[next(IDS)] = stream()
    for key in [key for key, one in STREAMS.items() if next(one, None) is None]:
        del STREAMS[key]
