# SPDX-License-Identifier: Apache-2.0
"""Caches that drop an old entry for a new one."""

from __future__ import annotations

import functools
import gc
import math
from typing import Any

from vllm_soak.heap.attributes import MISSING, class_dict, read, type_name
from vllm_soak.heap.inspectors.bound import Bound, holder, is_count, is_named

# Private attributes of cachetools' caches that hold one entry a cached item.
_CACHE_PARTS = (
    "_Cache__data",
    "_Cache__size",
    "_FIFOCache__order",
    "_LRUCache__order",
    "_LFUCache__counter",
    "_LFUCache__links",
    "_RRCache__index",
    "_RRCache__keys",
    "_TTLCache__links",
    "_TLRUCache__items",
)
# Class, package, attributes that hold one entry a cached item, and the attribute that limits them.
_CLASSES = (
    ("LRUCache", "jinja2", ("_mapping", "_queue"), "capacity"),
    ("RecentlyUsedContainer", "urllib3", ("_container",), "_maxsize"),
)
_LRU: Any = type(functools.lru_cache(lambda: None))
_info = class_dict(_LRU)["cache_info"]
_namespace = class_dict(_LRU)["__dict__"].__get__


def memoised_in(owners: list[object]) -> list[dict[Any, Any]]:
    """The dicts of the `functools.lru_cache`s among some objects: what is cached hangs on a second list as well."""
    found = [(one, gc.get_referents(one)) for one in owners if type(one) is _LRU]
    return [below for one, held in found for below in held if type(below) is dict and _namespace(one) is not below]


def memoised(container: object, owners: list[object]) -> Bound | None:
    """`functools.lru_cache` with a `maxsize`; with `maxsize=None`, or `functools.cache`, it has no limit."""
    wrapper = owners[-1] if owners else None
    if type(wrapper) is not _LRU or type(container) is not dict or _namespace(wrapper) is container:
        return None
    limit = _info(wrapper).maxsize  # a method of C code, which makes a named tuple
    if not is_count(limit):
        return None
    return Bound(limit, f"functools.lru_cache(maxsize={limit}) drops the entry that was not used for longest")


def sized_cache(container: object, owners: list[object]) -> Bound | None:
    """A cachetools cache evicts beyond `maxsize`, which counts entries or their summed sizes."""
    for owner in reversed(owners):
        limit = read(owner, "_Cache__maxsize")
        if limit is not MISSING and any(read(owner, name) is container for name in _CACHE_PARTS):
            return _evicting(owner, limit)
    return None


def _evicting(owner: object, limit: object) -> Bound | None:
    if not (type(limit) is int or (type(limit) is float and math.isfinite(limit))):
        return None
    return Bound(int(limit), f"{type_name(type(owner))} evicts beyond maxsize={int(limit)}")


def known_class(container: object, owners: list[object]) -> Bound | None:
    """Caches of well-known packages that evict."""
    owner = holder(owners)
    for name, package, parts, limited_by in _CLASSES:
        if is_named(type(owner), name, package) and any(read(owner, part) is container for part in parts):
            limit = read(owner, limited_by)
            return Bound(limit, f"{package}'s {name} evicts beyond {limit}") if is_count(limit) else None
    return None
