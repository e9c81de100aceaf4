# SPDX-License-Identifier: Apache-2.0
"""What a walk does with an object, by its type alone."""

from __future__ import annotations

import functools
import sys
import weakref
import zlib
from collections import OrderedDict, defaultdict, deque
from types import (
    BuiltinFunctionType,
    CellType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

from vllm_soak.heap.attributes import class_dict, mro, type_module, type_name

# Most derived first: an OrderedDict and a defaultdict are dicts too.
CONTAINERS: tuple[type, ...] = (OrderedDict, defaultdict, dict, list, set, deque, bytearray)
# Reached after everything that plain attributes reach, so that a path through them is the last choice.
LATE: tuple[type, ...] = (
    type,
    ModuleType,
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    CellType,
    FrameType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MappingProxyType,
    weakref.ReferenceType,
    staticmethod,
    classmethod,
    property,
    type(functools.lru_cache(lambda: None)),
)
_HAS_GC = 1 << 14  # Py_TPFLAGS_HAVE_GC
_flags = type.__dict__["__flags__"].__get__
_MANAGED = 3 << 3  # Py_TPFLAGS_MANAGED_WEAKREF and _MANAGED_DICT
_HEADER = 16


class Kind(NamedTuple):
    """How to treat the objects of one type.

    Args:
        cls: The type; kept so that its identity is not taken by another while the walk lasts.
        base: The container type that it derives from, or None.
        leaf: It holds no references worth following.
        late: It is followed after all others.
        code: Sixteen bits that tell container types apart.
    """

    cls: type
    base: type | None
    leaf: bool
    late: bool
    code: int


def kind_of(cls: type) -> Kind:
    """The treatment of a type."""
    bases = {id(base) for base in mro(cls)}
    base = next((one for one in CONTAINERS if id(one) in bases), None)
    return Kind(
        cls=cls,
        base=base,
        leaf=not _flags(cls) & _HAS_GC,
        late=base is None and any(id(one) in bases for one in LATE),
        code=zlib.crc32(f"{type_module(cls)}.{type_name(cls)}".encode()) & 0xFFFF,
    )


def container_base(item: object) -> type | None:
    """The container type that an object derives from, or None."""
    return kind_of(type(item)).base


def length(item: Any, base: type) -> int:
    """`len()` of a container, without a subclass's own `__len__`."""
    found: int = base.__len__(item)  # type: ignore[attr-defined]
    return found


def shallow_bytes(item: object) -> int:
    """`sys.getsizeof()`, without a `__sizeof__` that was written in Python."""
    cls = type(item)
    own = own_sizer(cls)
    return _header(cls) if own is None else int(own(item)) + _header(cls)


def own_sizer(cls: type) -> Any:
    """The nearest `__sizeof__` of a class and its bases that was not written in Python, unbound; None without one."""
    declared = (class_dict(base).get("__sizeof__") for base in mro(cls))
    return next((one for one in declared if one is not None and type(one) is not FunctionType), None)


def _header(cls: type) -> int:
    """Bytes in front of an object: the collector's links, and the slot of an instance's namespace."""
    flags = _flags(cls)
    in_front = _MANAGED if sys.version_info >= (3, 11) else 0
    return (_HEADER if flags & _HAS_GC else 0) + (_HEADER if flags & in_front else 0)
