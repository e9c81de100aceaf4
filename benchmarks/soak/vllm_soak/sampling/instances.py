# SPDX-License-Identifier: Apache-2.0
"""All live objects of one type, without harm to other threads.

`tuple(generator)` in another thread fails with a SystemError when somebody else holds its unfinished tuple at the
moment that it is filled, and the list that `gc.get_objects()` answers with does. So that list exists only within
one call of C code, during which no other thread runs; nothing here may be split into steps.
"""

from __future__ import annotations

import gc
from itertools import chain, groupby
from operator import itemgetter, methodcaller
from typing import Any


def instances(kind: type) -> list[Any]:
    """Every object that the collector tracks and whose type is `kind` itself, in no order; but for frozen ones."""
    # Runs of neighbours of one type, as (type, objects); `isinstance` would ask the objects, and so run their code.
    of_kind = methodcaller("__contains__", kind)
    return list(
        chain.from_iterable(
            map(itemgetter(1), filter(of_kind, groupby(chain.from_iterable(map(gc.get_objects, (None,))), type)))
        )
    )
