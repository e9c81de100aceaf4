# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def way_to() -> Callable[[object], list[object]]:
    """What a walk comes through to an object's attributes.

    Its namespace is among them, unless the object does not refer to that, as on CPython 3.13.0.
    """

    def way(item: object) -> list[object]:
        namespace = getattr(item, "__dict__", None)
        return [item, *(one for one in gc.get_referents(item) if one is namespace and type(one) is dict)]

    return way
