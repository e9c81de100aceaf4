# SPDX-License-Identifier: Apache-2.0
"""Names of encodings that are asked for, a new one each time."""

from __future__ import annotations

import codecs
import contextlib
import encodings.aliases
import itertools

NAMES = tuple(sorted(encodings.aliases.aliases))
NEXT = itertools.count()


def step() -> None:
    with contextlib.suppress(LookupError):
        codecs.lookup(NAMES[next(NEXT)])
