# SPDX-License-Identifier: Apache-2.0
"""What is the harness's own among the program's objects: `g` of `with growth() as g`, modules that it loads, its code.

It is there because the program is being looked at, so it does not count.
"""

from __future__ import annotations

import sys
from itertools import islice
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from vllm_soak.heap.attributes import derives, type_module
from vllm_soak.heap.path import is_ours

if TYPE_CHECKING:
    from vllm_soak.heap.locate import Located


def own_entries(found: Located, last: int | None = None) -> int:
    """Entries of a module's namespace, or of `sys.modules`, that are the harness's; 0 for any other container.

    Args:
        found: The container.
        last: Look at so many entries only, those that were added last.

    Raises:
        RuntimeError: It is being changed.
    """
    is_namespace = not found.owners and type(found.item) is dict and not found.path.place
    if found.item is not sys.modules and not is_namespace:
        return 0
    entries = zip(dict.__reversed__(found.item), reversed(dict.values(found.item)), strict=False)
    return sum(_is_own(name, value) for name, value in islice(entries, last))


def is_own_code(item: object) -> bool:
    """Whether something is a class or a function of the harness: a first use may make it reachable."""
    if derives(type(item), type):
        return is_ours(type_module(item))  # type: ignore[arg-type]  # it is a class, as asked by identity
    module = item.__globals__.get("__name__") if type(item) is FunctionType else None
    return type(module) is str and is_ours(module)


def _is_own(name: object, value: object) -> bool:
    return is_ours(type_module(type(value))) or (type(value) is ModuleType and type(name) is str and is_ours(name))
