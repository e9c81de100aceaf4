# SPDX-License-Identifier: Apache-2.0
"""What new entries look like, in a few words: types, lengths and shapes, and contents only when asked for."""

from __future__ import annotations

import sys
from itertools import islice
from types import FrameType, ModuleType
from typing import Any

from vllm_soak.heap.attributes import (
    MISSING,
    class_attribute,
    derives,
    existing_dict,
    mentioned,
    module_dict,
    read,
    slots,
    type_module,
    type_name,
)
from vllm_soak.heap.frames import frame_of, standing
from vllm_soak.heap.kinds import container_base, length
from vllm_soak.heap.path import is_ours
from vllm_soak.heap.retained import recent_entries
from vllm_soak.heap.roots import locals_of

SAMPLES = 3
# Fields of an object, names that are tried for them, and characters of a sample and of a text shown in it.
_FIELDS, _TRIED, _LONGEST, _LONGEST_TEXT = 6, 60, 200, 40
# Their values are as short as their type's name, and say more.
_CONSTANTS = (type(None), bool)
_NUMBERS = (int, float, complex)
_TEXTS = (str, bytes)


def samples(container: object, base: type, *, contents: bool = False) -> list[str]:
    """The last entries of a container (any, of a set), a mapping's as `key: value`; none while it is being changed.

    Objects of the harness are left out.

    Args:
        container: The container.
        base: Its builtin type.
        contents: Show numbers and the beginning of texts, which may be a user's.
    """
    try:
        found = recent_entries(container, base, SAMPLES)
        return [_entry(one, contents=contents) for one in found if not is_ours(type_module(type(one[-1])))]
    except RuntimeError:
        return []


def sample(item: object, *, contents: bool = False) -> str:
    """One object: its type, then its length, shape or fields."""
    try:
        fields = _fields(item, contents=contents) if _has_fields(item) else _suspended(item)
    except RuntimeError:  # another thread is adding one just now
        fields = ""
    return _cut(f"{_brief(item, contents=contents)}{fields}")


def _entry(entry: tuple[object, ...], *, contents: bool) -> str:
    last = sample(entry[-1], contents=contents)
    return _cut(f"{_brief(entry[0], contents=contents)}: {last}") if len(entry) > 1 else last


def _brief(item: Any, *, contents: bool) -> str:
    """`str[36]`, `list[220]`, `ndarray float32 (2, 3)`, `generator stream (app.py:9)`, or the name of the type."""
    cls = type(item)
    name = type_name(cls)
    if any(cls is one for one in _CONSTANTS):
        return str(item)
    if contents and any(cls is one for one in (*_NUMBERS, *_TEXTS)):
        return repr(item[:_LONGEST_TEXT] if any(cls is one for one in _TEXTS) else item)[: 2 * _LONGEST_TEXT]
    size = _length(item, cls)
    if size is not None:
        return f"{name}[{size}]"
    return f"{name} {_shape(item, cls) or standing(item)}".rstrip()


def _length(item: Any, cls: type) -> int | None:
    base = container_base(item)
    if base is not None:
        return length(item, base)
    sized = next((one for one in (str, bytes, tuple, frozenset) if derives(cls, one)), None)
    return None if sized is None else int(sized.__len__(item))


def _shape(item: Any, cls: type) -> str:
    """Type of the elements and shape of an array or tensor; only of the packages' own classes."""
    for module, name, shape in (("numpy", "ndarray", "shape"), ("torch", "Tensor", "shape")):
        found = sys.modules.get(module)
        own = module_dict(found).get(name) if type(found) is ModuleType else None
        if own is cls:
            sides = tuple(int(side) for side in _get(item, cls, shape))
            return f"{_get(item, cls, 'dtype')} {sides}".removeprefix("torch.")
    return ""


def _get(item: object, cls: type, name: str) -> Any:
    return class_attribute(cls, name).__get__(item, cls)


def _fields(item: object, *, contents: bool) -> str:
    """Names and kinds of a few attributes."""
    shown = [f"{name}={_brief(value, contents=contents)}" for name, value in _attributes(item)]
    more = ", …" if len(shown) > _FIELDS else ""
    return f"({', '.join(shown[:_FIELDS])}{more})" if shown else ""


def _suspended(item: object) -> str:
    """What a suspended generator or coroutine holds on to, of a small record the first one in it."""
    if _is_suspended(item):
        return _held(item)
    for one in _values(item):
        if _is_suspended(one):
            return f" with {_brief(one, contents=False)}{_held(one)}"
    return ""


def _is_suspended(item: object) -> bool:
    return type(item) is not FrameType and frame_of(item) is not None


def _values(item: Any) -> list[object]:
    """The values of a dict, list or tuple as small as a record."""
    base = next((one for one in (dict, list, tuple) if type(item) is one), None)
    if base is None or len(item) > _FIELDS:
        return []
    return list(item.values() if base is dict else item)


def _held(item: Any) -> str:
    """The containers among a suspended frame's locals, which keep most alive; never a value of one."""
    frame = frame_of(item)
    found = [(name, value) for name, value in locals_of(frame) if container_base(value) is not None] if frame else []
    shown = [f"{name}={_brief(value, contents=False)}" for name, value in found if _length(value, type(value))]
    return f" holding {', '.join(shown[:_FIELDS])}" if shown else ""


def _attributes(item: object) -> list[tuple[str, object]]:
    """One more than are shown, so that it can be said that there are more."""
    namespace = existing_dict(item)
    if namespace is not None:
        pairs = islice(dict.items(namespace), _FIELDS + 1)
        return [(name, value) for name, value in pairs if type(name) is str]
    names = list(dict.fromkeys([*slots(type(item)), *mentioned(type(item))]))[:_TRIED]
    found = [(name, read(item, name)) for name in names if not name.startswith("__")]
    return [(name, value) for name, value in found if value is not MISSING and not callable(value)][: _FIELDS + 1]


def _has_fields(item: object) -> bool:
    """Whether an object is of a class of its own, rather than a builtin, an array, a class or a module."""
    cls = type(item)
    own = type_module(cls) not in {"", "builtins"} and not derives(cls, type) and not derives(cls, ModuleType)
    return own and _length(item, cls) is None and not _shape(item, cls)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
