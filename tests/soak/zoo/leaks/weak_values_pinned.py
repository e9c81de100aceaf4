# SPDX-License-Identifier: Apache-2.0
"""A WeakValueDictionary whose values a list keeps alive."""

from __future__ import annotations

import weakref

PATH = "weak_values_pinned.PINNED"


class Session:
    pass


SESSIONS: weakref.WeakValueDictionary[int, Session] = weakref.WeakValueDictionary()
PINNED: list[Session] = []


def step() -> None:
    session = Session()
    SESSIONS[len(PINNED)] = session
    PINNED.append(session)
