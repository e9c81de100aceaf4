# SPDX-License-Identifier: Apache-2.0
"""Reads of attributes that run no user code.

No `getattr`, no properties, no `__getattr__`, no lazy module attributes, nothing of a metaclass. On
CPython 3.11 and later, asking an instance for its `__dict__` makes the interpreter build a dictionary
that the instance then keeps, so an attribute is read by name wherever a name can be had otherwise.
"""

from __future__ import annotations

import gc
from collections import deque
from functools import cached_property
from types import CodeType, FunctionType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING: Any = object()
# What may be a base of a class whose instances have a namespace, and a million entries.
_LONG: tuple[Any, ...] = (dict, list, tuple, set, frozenset, deque)
# A list of so many references takes less than a millisecond.
_WIDE = 20_000

_type_dict = type.__dict__["__dict__"].__get__
_type_mro = type.__dict__["__mro__"].__get__
_type_name = type.__dict__["__name__"].__get__
_module_dict = _type_dict(ModuleType)["__dict__"].__get__


def class_dict(cls: type) -> MappingProxyType[str, Any]:
    """A class's own namespace."""
    found: MappingProxyType[str, Any] = _type_dict(cls)
    return found


def mro(cls: type) -> tuple[type, ...]:
    """A class and its bases; empty while the class is under construction."""
    return _type_mro(cls) or ()


def type_name(cls: type) -> str:
    """Short name of a class."""
    return str(_type_name(cls))


def type_module(cls: type) -> str:
    """The module that a class says it comes from; empty for a class of C code that does not say."""
    module = class_dict(cls).get("__module__", "")
    return module if type(module) is str else ""


def derives(cls: type, base: type) -> bool:
    """Whether a class has the base, by identity."""
    if type(base) is type:
        return issubclass(cls, base)  # nothing of either class is asked: only another metaclass would be
    return any(one is base for one in mro(cls))


def module_dict(module: object) -> dict[str, Any]:
    """A module's namespace."""
    found: dict[str, Any] = _module_dict(module)
    return found


def class_attribute(cls: type, name: str) -> Any:
    """What a class or its bases have under a name, unbound, or `MISSING`."""
    for base in mro(cls):
        found = class_dict(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def read(item: object, name: str) -> Any:
    """An attribute's value from a slot or an instance's, module's or class's namespace, or `MISSING`."""
    cls = type(item)
    if derives(cls, ModuleType):
        return module_dict(item).get(name, MISSING)
    if derives(cls, type):
        return class_attribute(item, name)  # type: ignore[arg-type]
    return _read_instance(item, cls, name)


def _read_instance(item: object, cls: type, name: str) -> Any:
    declared = class_attribute(cls, name)
    try:
        if type(declared) is MemberDescriptorType:
            return declared.__get__(item, cls)
        if declared is MISSING or class_attribute(type(declared), "__get__") is MISSING:
            return object.__getattribute__(item, name)
    except AttributeError:
        return MISSING
    # A property or another descriptor: running it would be running the user's code.
    return (existing_dict(item) or {}).get(name, MISSING)


def existing_dict(item: object) -> dict[str, Any] | None:
    """An instance's, module's or class's namespace if it exists already as a dictionary."""
    cls = type(item)
    if derives(cls, ModuleType):
        return module_dict(item)
    of_type = derives(cls, type)
    if not of_type and type(class_attribute(cls, "__dict__")) is not GetSetDescriptorType:
        return None  # a builtin container may have a million references to look through
    if _is_wide(item, cls):
        return built_dict(item)
    present = [one for one in gc.get_referents(item) if type(one) is dict]
    if of_type:
        return next((one for one in present if "__module__" in one or "__doc__" in one), None)
    return next((one for one in present if _is_namespace(item, cls, one)), None)


def _is_wide(item: Any, cls: type) -> bool:
    """Whether an object is so long a container that a list of its references holds the interpreter for milliseconds."""
    base = next((one for one in _LONG if derives(cls, one)), None)
    return base is not None and base.__len__(item) > _WIDE


def _is_namespace(item: object, cls: type, candidate: dict[Any, Any]) -> bool:
    """Whether an instance's attribute of the candidate's first plain name is the candidate's value."""
    overridden = False
    for name, value in list(candidate.items()):
        if type(name) is not str:
            return False
        declared = class_attribute(cls, name)
        if declared is MISSING:
            try:
                return object.__getattribute__(item, name) is value
            except AttributeError:
                return False
        overridden |= type(declared) is cached_property
    # Nothing but what cached properties left: to ask for one by name might compute it, so the namespace is asked for.
    return overridden and built_dict(item) is candidate


def slots(cls: type) -> Iterator[str]:
    """Names of slots, most derived class first."""
    for base in mro(cls):
        for name, value in list(class_dict(base).items()):
            if type(value) is MemberDescriptorType and type(name) is str:
                yield name


def mentioned(cls: type) -> Iterator[str]:
    """Names that a class's own methods and annotations mention: where its attributes are called by name."""
    for base in mro(cls):
        namespace = class_dict(base)
        annotations = namespace.get("__annotations__")
        if type(annotations) is dict:
            yield from [name for name in list(annotations) if type(name) is str]
        for value in list(namespace.values()):
            code = _code(value)
            if code is not None:
                yield from code.co_names


def _code(value: object) -> CodeType | None:
    if type(value) in (classmethod, staticmethod):
        value = value.__func__  # type: ignore[attr-defined]
    return value.__code__ if type(value) is FunctionType else None


def built_dict(item: object) -> dict[str, Any] | None:
    """An instance's namespace, built by the interpreter if need be: the last resort for a name."""
    descriptor = class_attribute(type(item), "__dict__")
    if type(descriptor) is not GetSetDescriptorType:
        return None
    try:
        found = descriptor.__get__(item, type(item))
    except AttributeError:
        return None
    return found if type(found) is dict else None
