# SPDX-License-Identifier: Apache-2.0
"""Freeing the storage of mlx-lm's caches by their real fields.

`cache.state = None` looks as if it did that, but raises inside of the setter of every kind but one and frees
nothing. Here each kind is emptied by the fields that mlx-lm 0.30 to 0.32 gives it: those that hold arrays
become None, and positions go back to the start, so that an emptied cache is as one that was just made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# Fields that hold the arrays of attention caches, and those that count what is in them.
_ARRAYS = ("keys", "values")
_POSITIONS = ("offset", "_idx", "_offset", "start_position")
# Of recurrent caches: a list of arrays, what describes a batch, and what rapid-mlx adds for going back.
_LISTED = "cache"
_DESCRIPTIONS = ("lengths", "left_padding", "rollback_state")
_INNER = "caches"


def release(cache: Any) -> bool:
    """Free the storage of one cache, of a list of them, or of a CacheList; again does no harm.

    Only for a cache that nobody uses any more: a live request that shares the object would lose it.

    Args:
        cache: A cache of mlx-lm, or anything that holds some in a list or tuple.

    Returns:
        Whether every cache in it is of a kind that is known; others are left as they are.
    """
    if isinstance(cache, list | tuple):
        return _all(cache)
    fields = vars(cache) if hasattr(cache, "__dict__") else {}
    if _INNER in fields:
        return _all(fields[_INNER])
    if isinstance(fields.get(_LISTED), list):
        fields[_LISTED] = [None] * len(fields[_LISTED])
        _forget(fields, _DESCRIPTIONS)
        return True
    if not all(name in fields for name in _ARRAYS):
        return False
    fields.update(dict.fromkeys(_ARRAYS))
    for name in _POSITIONS:
        # A batch counts in arrays, one number a row, which say nothing of what is freed.
        if isinstance(fields.get(name), int):
            fields[name] = 0
    return True


def _all(caches: Iterable[Any]) -> bool:
    known = [release(one) for one in caches]
    return all(known)


def _forget(fields: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if name in fields:
            fields[name] = None
