# SPDX-License-Identifier: Apache-2.0
"""Queues and pools that were made with a limit."""

from __future__ import annotations

from collections import deque

from vllm_soak.heap.attributes import derives, read, type_name
from vllm_soak.heap.inspectors.bound import Bound, holder, is_count, is_named

_maxlen = deque.__dict__["maxlen"].__get__
# Class, module, attribute that holds the entries, attribute that limits them.
_QUEUES = (("Queue", "queue", "queue", "maxsize"), ("Queue", "asyncio.queues", "_queue", "_maxsize"))


def bounded_deque(container: object, _owners: list[object]) -> Bound | None:
    """A deque made with `maxlen` drops its oldest entry."""
    limit = _maxlen(container) if derives(type(container), deque) else None
    return None if limit is None else Bound(limit, f"a deque with maxlen={limit} drops its oldest entry")


def bounded_queue(container: object, owners: list[object]) -> Bound | None:
    """A queue made with `maxsize` takes no more until something is taken out."""
    owner = holder(owners)
    for name, module, entries, limited_by in _QUEUES:
        if is_named(type(owner), name, module) and read(owner, entries) is container:
            limit = read(owner, limited_by)
            return (
                Bound(limit, f"a {type_name(type(owner))} with maxsize={limit} is full then")
                if is_count(limit)
                else None
            )
    return None


def workers(container: object, owners: list[object]) -> Bound | None:
    """A pool of threads starts a thread for each piece of work until it has as many as it may."""
    owner = holder(owners)
    if (
        not is_named(type(owner), "ThreadPoolExecutor", "concurrent.futures")
        or read(owner, "_threads") is not container
    ):
        return None
    limit = read(owner, "_max_workers")
    return Bound(limit, f"a ThreadPoolExecutor has at most {limit} threads") if is_count(limit) else None
