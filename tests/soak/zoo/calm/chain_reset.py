# SPDX-License-Identifier: Apache-2.0
"""An undo history that starts anew at every checkpoint."""

from __future__ import annotations

import itertools


class Document:
    def __init__(self) -> None:
        self.undo: tuple[object, ...] = ()


DOCUMENT = Document()
EDITS = itertools.count(1)


def step() -> None:
    DOCUMENT.undo = () if next(EDITS) % 15 == 0 else (DOCUMENT.undo, object())
