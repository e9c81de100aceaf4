# SPDX-License-Identifier: Apache-2.0
"""A WeakValueDictionary whose values end with their requests."""

from __future__ import annotations

import itertools
import weakref


class Session:
    pass


SESSIONS: weakref.WeakValueDictionary[int, Session] = weakref.WeakValueDictionary()
IDS = itertools.count()


def step() -> None:
    session = Session()
    SESSIONS[next(IDS)] = session
