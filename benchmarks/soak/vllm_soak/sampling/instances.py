# SPDX-License-Identifier: Apache-2.0
"""All live objects of one type, without harm to other threads.

`tuple(generator)` in another thread fails with a SystemError when somebody else holds its unfinished tuple at the
moment that it is filled, and the list that `gc.get_objects()` answers with does. So that list exists only within
one call of C code, during which no other thread runs; nothing here may be split into steps.
"""

from __future__ import annotations

import gc
from itertools import chain, compress, repeat
from operator import is_
from typing import Any


def instances(kind: type) -> list[Any]:
    """Every object that the collector tracks and whose type is `kind` itself, in no order; but for frozen ones."""
    # Types are told apart by identity: `isinstance` would ask the objects, `==` a metaclass, and so run their code.
    # The one list is gone through twice in step, and both times to its end, or it would be held by what it lists.
    twice = chain.from_iterable(map(repeat, map(gc.get_objects, (None,)), repeat(2)))
    kept, types = chain.from_iterable(twice), map(type, chain.from_iterable(twice))
    return list(chain(compress(kept, map(is_, types, repeat(kind))), types))
