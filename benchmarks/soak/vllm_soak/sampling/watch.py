# SPDX-License-Identifier: Apache-2.0
"""The length of a container that the user named with `--watch PATH`.

A path starts at a local variable of any thread's frame, or at a module (`module:path`), and goes on as the
code would: `llm.llm_engine.engine_core.scheduler.waiting`, `managers[0].new_block_ids`, `stats["by_name"]`.
Nothing of the user's runs: attributes are read from namespaces and slots, items from lists and dicts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.attributes import MISSING
from vllm_soak.heap.hops import Hop, follow
from vllm_soak.heap.kinds import container_base, length
from vllm_soak.heap.roots import frame_roots, module_roots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_START = re.compile(r"(?:(?P<module>[\w.]+):)?(?P<name>\w+)")
_STEP = re.compile(r"""\.(?P<attribute>\w+)|\[(?P<index>\d+)\]|\[(?P<quote>["'])(?P<key>[^"'\]]*)(?P=quote)\]""")


def lengths(paths: Iterable[str]) -> dict[str, int]:
    """`len()` of the container at each path; a path that leads nowhere, or to something else, is absent."""
    found = {path: _length(path) for path in paths}
    return {path: size for path, size in found.items() if size is not None}


def _length(path: str) -> int | None:
    for item in resolve(path):
        base = container_base(item)
        if base is not None:
            return length(item, base)
    return None


def resolve(path: str) -> Iterator[Any]:
    """Every object that a path leads to, outermost frame of the main thread first."""
    start = _START.match(path)
    steps = None if start is None else parse(path[start.end() :])
    if start is None or steps is None:
        return
    for value in _starts(start["module"], start["name"]):
        item = value
        for step in steps:
            item = MISSING if item is MISSING else follow(item, step)
        if item is not MISSING:
            yield item


def parse(text: str) -> list[Hop] | None:
    """The steps after a path's start, or None when it is not a path."""
    steps, at = [], 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        steps.append(_hop(found))
        at = found.end()
    return steps


def _hop(found: re.Match[str]) -> Hop:
    if found["attribute"] is not None:
        return Hop("attribute", found["attribute"])
    return Hop("key", found["key"]) if found["index"] is None else Hop("index", int(found["index"]))


def _starts(module: str | None, name: str) -> Iterator[Any]:
    if module is None:
        yield from (root.value for root in frame_roots() if root.label == name)
        return
    for root in module_roots():
        if root.label == module and type(root.value) is dict and name in root.value:
            yield root.value[name]
