# SPDX-License-Identifier: Apache-2.0
"""Sessions in a WeakSet, which a list keeps alive."""

from __future__ import annotations

import weakref

PATH = "weak_set_pinned.PINNED"


class Session:
    pass


SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()
PINNED: list[Session] = []


def step() -> None:
    session = Session()
    SESSIONS.add(session)
    PINNED.append(session)
