# SPDX-License-Identifier: Apache-2.0
"""The tools by name, in the order of the table."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rivals.adapter import Adapter


@dataclass(frozen=True)
class Tool:
    """One row.

    Args:
        title: Its name in the table.
        adapter: `module:class` below this package; imported only where it runs.
        child: What it takes to use it on the EngineCore child.
        ours: Whether it is this project's.
    """

    title: str
    adapter: str
    child: str
    ours: bool = False


INSIDE = "with code of your own in the child"
TOOLS = {
    "vmrss": Tool("VmRSS slope", "vmrss:VmRss", "yes, from outside"),
    "tracemalloc-1": Tool("tracemalloc(1)", "tracing:Tracemalloc", INSIDE),
    "tracemalloc-25": Tool("tracemalloc(25)", "tracing:Tracemalloc25", INSIDE),
    "memray-tracker": Tool("memray Tracker, in process", "memray_tracker:MemrayTracker", INSIDE),
    "memray-attach": Tool("memray attach, to the child", "memray_attach:MemrayAttach", "yes: debugger and ptrace"),
    "objgraph": Tool("objgraph growth()", "objgraph_growth:Objgraph", INSIDE),
    "guppy-diff": Tool("guppy3, setref and heap()", "guppy_diff:GuppyDiff", INSIDE),
    "guppy-paths": Tool("guppy3, (heap & list).byid, shpaths", "guppy_paths:GuppyPaths", INSIDE),
    "pympler": Tool("pympler muppy and summary", "pympler_summary:Pympler", INSIDE),
    "vllm-soak": Tool("vllm-soak, in process", "census:Census", "see the next row", ours=True),
    "vllm-soak-child": Tool("vllm-soak, in the child", "census:CensusInChild", "yes: the plugin loads it", ours=True),
}


def adapter_class(name: str) -> type[Adapter]:
    """The class of a tool's adapter; importing it imports no tool."""
    module, _, attribute = TOOLS[name].adapter.partition(":")
    found: type[Adapter] = getattr(importlib.import_module(f"rivals.{module}"), attribute)
    return found
