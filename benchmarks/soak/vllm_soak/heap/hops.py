# SPDX-License-Identifier: Apache-2.0
"""One step down the object graph: how an object names another that it refers to."""

from __future__ import annotations

import functools
from collections import deque
from types import CellType, FrameType, FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap import attributes
from vllm_soak.heap.attributes import MISSING, derives
from vllm_soak.heap.frames import frame_of
from vllm_soak.heap.roots import locals_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm_soak.heap.roots import Root

# A key is shown when it reads like a name of the program's; anything else may be a user's content.
_LONGEST_KEY = 40


class Hop(NamedTuple):
    """One step.

    Args:
        kind: `attribute`, `key`, `index`, `member` (of a set), `dict` (an instance's namespace itself),
            `closure` (a function's captured variable), or `referent` (it has no name).
        name: Attribute, key, variable, or index; for a key that is not a name, its identity.
    """

    kind: str
    name: str | int

    @property
    def is_item(self) -> bool:
        """Whether it is written in brackets."""
        return self.kind in {"key", "index", "member"}

    @property
    def text(self) -> str:
        """As in a path."""
        if self.kind == "key" and type(self.name) is str:
            return f'["{self.name}"]'
        return f"[{self.name}]" if self.kind == "index" else self.template

    @property
    def template(self) -> str:
        """As in a path's template."""
        fixed = {"key": "[*]", "index": "[i]", "member": "[*]", "dict": ".__dict__", "closure": f".<{self.name}>"}
        return fixed.get(self.kind, f".{self.name}")


def describe(root: Root, chain: list[Any]) -> Iterator[tuple[Hop, Any]]:
    """The named steps of a chain of objects, each with what it reaches; namespaces and cells are passed over."""
    at = 0
    if not root.place:  # a module's namespace: its names are the module's attributes
        if len(chain) == 1:
            return
        yield Hop("attribute", key_name(chain[0], chain[1])), chain[1]
        at = 1
    while at + 1 < len(chain):
        hop, taken = _longest(chain, at)
        at += taken
        yield hop, chain[at]


def _longest(chain: list[Any], at: int) -> tuple[Hop, int]:
    """The step from one object of the chain, and how many of the chain's objects it takes."""
    above, below = chain[at], chain[at + 1]
    if type(below) is dict and not _is_container(above) and attributes.existing_dict(above) is below:
        if at + 2 == len(chain):
            return Hop("dict", "__dict__"), 1
        return Hop("attribute", key_name(below, chain[at + 2])), 2
    if _is_suspended_in(above, below) and at + 2 < len(chain):
        return hop(below, chain[at + 2]), 2
    if type(above) is FunctionType and at + 3 < len(chain) and type(chain[at + 2]) is CellType:
        return Hop("closure", _captured(above, chain[at + 2])), 3
    return hop(above, below), 1


def _is_suspended_in(above: object, below: object) -> bool:
    """Whether a generator or coroutine keeps its frame apart, as on CPython 3.10: later ones have its locals."""
    apart = type(above) is not FrameType and type(above) is not TracebackType
    return type(below) is FrameType and apart and frame_of(above) is below


def hop(above: Any, below: object) -> Hop:
    """How an object names one that it refers to."""
    return _as_entry(above, below) or _as_attribute(above, below) or Hop("referent", f"<{_name(below)}>")


def follow(above: Any, step: Hop) -> Any:
    """What a step leads to from an object now, or `MISSING`."""
    if step.kind == "attribute" and type(step.name) is str:
        special = _special(above).get(step.name, MISSING)
        return attributes.read(above, step.name) if special is MISSING else special
    if step.kind == "dict":
        found = attributes.existing_dict(above)
        return MISSING if found is None else found
    if step.kind == "closure":
        return _captured_value(above, step.name)
    return _entry(above, step)


def key_name(mapping: dict[Any, Any], value: object) -> str:
    """The name of a value in a namespace."""
    return next((key for key, one in entries(mapping) if one is value and type(key) is str), "?")


def entries(mapping: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Keys and values, also when the mapping grows meanwhile; not copied, since a copy is a tuple an entry."""
    try:
        yield from dict.items(mapping)
    except RuntimeError:
        yield from list(dict.items(mapping))


def _name(item: object) -> str:
    return attributes.type_name(type(item))


def _is_container(item: object) -> bool:
    return any(derives(type(item), base) for base in (dict, list, tuple, set, frozenset, deque))


def _as_entry(above: Any, below: object) -> Hop | None:
    cls = type(above)
    if derives(cls, dict):
        return _as_key(above, below)
    for base in (list, tuple, deque):
        if derives(cls, base):
            entries = enumerate(base.__iter__(above))
            return next((Hop("index", at) for at, one in entries if one is below), None)
    if derives(cls, set) or derives(cls, frozenset):
        return Hop("member", "*")
    return None


def _as_key(above: dict[Any, Any], below: object) -> Hop | None:
    for key, value in entries(above):
        if value is below:
            return Hop("key", key if is_plain(key) else id(key))
        if key is below:
            return Hop("referent", "<key>")
    return None


def is_plain(key: object) -> bool:
    """Whether a key is a short identifier, and so a name of the program's rather than a user's content."""
    return type(key) is str and len(key) <= _LONGEST_KEY and key.isidentifier()


def _entry(above: Any, step: Hop) -> Any:
    cls = type(above)
    if step.kind == "key" and derives(cls, dict):
        wanted = step.name
        for key, value in entries(above):
            if (type(key) is str and key == wanted) if type(wanted) is str else id(key) == wanted:
                return value
    if step.kind == "index" and type(step.name) is int:
        base = next((one for one in (list, tuple, deque) if derives(cls, one)), None)
        if base is not None and step.name < base.__len__(above):
            return base.__getitem__(above, step.name)
    return MISSING


def _as_attribute(above: object, below: object) -> Hop | None:
    for name, value in _special(above).items():
        if value is below:
            return Hop("attribute", name)
    found = _attribute_name(above, below)
    return Hop("attribute", found) if found else None


def _attribute_name(above: object, below: object) -> str | None:
    namespace = attributes.existing_dict(above)
    if namespace is not None:
        name = key_name(namespace, below)
        if name != "?":
            return name
    cls = type(above)
    for names in (attributes.slots(cls), attributes.mentioned(cls)):
        for name in names:
            if attributes.read(above, name) is below:
                return name
    if namespace is None and not derives(cls, type):
        built = attributes.built_dict(above) or {}
        return next((key for key, one in entries(built) if one is below and type(key) is str), None)
    return None


def _special(item: Any) -> dict[str, Any]:
    """Attributes of the interpreter's own types, which have neither a namespace nor slots."""
    cls = type(item)
    if cls is FunctionType:
        return {name: getattr(item, name) for name in ("__closure__", "__defaults__", "__kwdefaults__", "__globals__")}
    if cls is MethodType:
        return {"__self__": item.__self__, "__func__": item.__func__}
    if cls is functools.partial:
        return {"func": item.func, "args": item.args, "keywords": item.keywords}
    if cls is CellType:
        return _content(item)
    if cls is property:
        return {"fget": item.fget, "fset": item.fset, "fdel": item.fdel}
    return _frame_locals(item, cls)


def _content(cell: CellType) -> dict[str, Any]:
    try:
        return {"cell_contents": cell.cell_contents}
    except ValueError:
        return {}


def _frame_locals(item: Any, cls: type) -> dict[str, Any]:
    """Locals of a frame, or of a suspended generator's or coroutine's; a traceback's own attributes."""
    if cls is TracebackType:
        return {"tb_frame": item.tb_frame, "tb_next": item.tb_next}
    frame = frame_of(item)
    if frame is None:
        return {}
    return {**dict(locals_of(frame)), **({"f_back": frame.f_back} if cls is FrameType else {})}


def _captured(function: FunctionType, cell: CellType) -> str:
    """The name of a variable that a function captured."""
    cells = function.__closure__ or ()
    pairs = zip(function.__code__.co_freevars, cells, strict=False)
    return next((name for name, one in pairs if one is cell), "?")


def _captured_value(function: object, name: object) -> Any:
    if type(function) is not FunctionType:
        return MISSING
    pairs = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    cell = next((one for variable, one in pairs if variable == name), None)
    return MISSING if cell is None else _content(cell).get("cell_contents", MISSING)
