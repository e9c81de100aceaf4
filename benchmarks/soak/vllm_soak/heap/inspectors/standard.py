# SPDX-License-Identifier: Apache-2.0
"""Caches and registries of the standard library.

No rule stands here for what only looks bounded: `logging`'s loggers (one a name), `threading._active` (one a thread
that lives), `warnings` (one a text, where the text differs), label values of a metric. A program that
makes up ever new names, threads, texts or labels does leak there.
"""

from __future__ import annotations

import gc
import sys
from typing import Any
from weakref import ReferenceType

from vllm_soak.heap.attributes import type_name
from vllm_soak.heap.inspectors.bound import Bound, is_count, is_named, of_module

# Module, its cache, and its limit, which is emptied or evicts when that is reached.
_LIMITED = (
    ("re", "_cache", "_MAXCACHE"),
    ("re", "_cache2", "_MAXCACHE2"),
    ("regex.regex", "_cache", "_MAXCACHE"),
    ("regex._main", "_cache", "_MAXCACHE"),
    ("_strptime", "_regex_cache", "_CACHE_MAX_SIZE"),
    ("urllib.parse", "_parse_cache", "MAX_CACHE_SIZE"),
)
# Modules/_struct.c, MAXCACHE.
_STRUCTS = 100
# Modules/_sqlite/connection.c looks for dead references once in 200 cursors; the newest two come on top.
_CURSORS = 202


def limited(container: object, _owners: list[object]) -> Bound | None:
    """Caches with a limit beside them in their module."""
    for module, name, limited_by in _LIMITED:
        if of_module(module, name) is container:
            limit = of_module(module, limited_by)
            return Bound(limit, f"{module}.{name} keeps to {limited_by}={limit}") if is_count(limit) else None
    return None


def structs(container: object, owners: list[object]) -> Bound | None:
    """Compiled formats of `struct`."""
    if not owners or owners[-1] is not sys.modules.get("_struct") or type(container) is not dict:
        return None
    if any(type_name(type(one)) != "Struct" for one in list(container.values())):
        return None
    return Bound(_STRUCTS, f"struct keeps at most {_STRUCTS} compiled formats")


def cursors(container: Any, owners: list[object]) -> Bound | None:
    """Weak references of an sqlite3 connection to its cursors (in CPython 3.10 to its statements also), dead ones too.

    The list of its blobs is the last one from 3.11 on, and is not cleared: a program may leak there.
    """
    owner = owners[-1] if owners else None
    if type(container) is not list or not is_named(type(owner), "Connection", "sqlite3"):
        return None
    lists = [one for one in gc.get_referents(owner) if type(one) is list]
    if sys.version_info >= (3, 11) and container is not lists[0]:
        return None
    alive = sum(type(one) is ReferenceType and one() is not None for one in list(container))
    return Bound(alive + _CURSORS, f"sqlite3 keeps at most {_CURSORS} references to cursors that are gone")


def encodings(container: object, _owners: list[object]) -> Bound | None:
    """Codecs that were looked up, by the name that was asked for."""
    aliases = of_module("encodings.aliases", "aliases")
    if of_module("encodings", "_cache") is not container or type(aliases) is not dict:
        return None
    return Bound(len(aliases), f"one entry for each of {len(aliases)} names of encodings")


def source_lines(container: Any, _owners: list[object]) -> Bound | None:
    """Source files that a traceback has shown; texts that were made up at run time (`<...>`) have no limit."""
    if of_module("linecache", "cache") is not container:
        return None
    made_up = sum(type(name) is str and name.startswith("<") for name in list(container))
    modules = len(sys.modules)
    if 2 * made_up > len(container):
        return None
    return Bound(modules, f"one entry for each source file of {modules} loaded modules")


def warned_lines(container: Any, owners: list[Any]) -> Bound | None:
    """A module's record of warnings, when each line warns with one text: at most one for each line."""
    namespace = owners[-1] if owners else None
    if type(namespace) is not dict or namespace.get("__warningregistry__") is not container:
        return None
    lines: list[int] = [key[-1] for key in list(container or ()) if type(key) is tuple and key and type(key[-1]) is int]
    if not lines or len(set(lines)) < len(lines):
        return None
    return Bound(max(*lines, len(lines)), f"one entry for each line that warns, up to line {max(lines)}")
