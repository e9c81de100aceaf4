# SPDX-License-Identifier: Apache-2.0
"""A number that the program's own code compares the length of a container with, whatever it is called.

`if len(self.d) >= self.n: ...` and `self.times[-500:]` say that somebody thought of a limit. What is done there is not
looked at, so it is a hint as in `limits`, and no bound. The compiled code is read; nothing of it is run.
"""

from __future__ import annotations

import dis
from itertools import chain, islice
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap.attributes import MISSING, class_dict, derives, existing_dict, mro, read, type_module, type_name
from vllm_soak.heap.inspectors.bound import holder

if TYPE_CHECKING:
    from collections.abc import Iterator

# Names of a module, or of a class, that are looked through.
MOST_NAMES = 2_000
# What stands between the loads and the comparison, and says nothing.
_SILENT = {"RESUME", "PRECALL", "NOP", "CACHE", "PUSH_NULL", "EXTENDED_ARG", "NOT_TAKEN", "COPY_FREE_VARS", "KW_NAMES"}
_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME"}
_VARIABLES = {"LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF"}

# Kind (`global`, `variable`, `self` for an attribute of the first argument, `const`, `do` for the rest) and name, with
# dots between where it is an attribute of an attribute.
Token = tuple[str, object]
LEN: Token = ("global", "len")
CALL: Token = ("do", "CALL")
COMPARE: Token = ("do", "COMPARE_OP")
NEGATIVE: Token = ("do", "UNARY_NEGATIVE")
NOTHING: Token = ("const", None)
_MINUS = dis.opmap["UNARY_NEGATIVE"]
# Constants of compiled code; a program that rewrites its own may put any object among them.
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, type(...), slice, CodeType)
# Bits of an int, whose digits Python refuses to show beyond some thousands.
_LONGEST_INT = 64


class Compared(NamedTuple):
    """A number and how it is written there."""

    value: int
    name: str


def compared_with(container: object, owners: list[object]) -> list[Compared]:
    """Numbers that the code of what holds a container compares its length with, or cuts it to.

    Args:
        container: The container.
        owners: Objects on the way to it, from the root down.
    """
    found: list[Compared] = []
    for function, subject in _about(container, owners):
        for number in _numbers(tokens(function.__code__), subject):
            value = _value(number, function, owners)
            if type(value) is int:
                found.append(Compared(value, _written(number, function, holder(owners))))
    return list(dict.fromkeys(found))  # the test of a `while` is compiled twice


def tokens(code: CodeType) -> list[Token]:
    """What a function loads and does, in order; an attribute of a name, and of that, is one token."""
    first = code.co_varnames[:1]
    found: list[Token] = []
    for one in dis.get_instructions(code):
        if one.opname in _SILENT:
            continue
        kind, name = found[-1] if found else NOTHING
        if one.opname in {"LOAD_ATTR", "LOAD_METHOD"} and kind in {"local", "self", "global"}:
            found[-1] = ("self", one.argval) if kind == "local" else (kind, f"{name}.{one.argval}")
        else:
            found.append(_token(one, first))
    return found


def _token(one: dis.Instruction, first: tuple[str, ...]) -> Token:
    name = one.opname
    if name in _GLOBALS:
        return "global", one.argval
    if name in _VARIABLES:
        return "variable", one.argval
    if name in {"LOAD_CONST", "LOAD_SMALL_INT"}:
        return "const", one.argval if type(one.argval) is int else None
    if name.startswith("LOAD_FAST") and (one.argval,) == first:
        return "local", first
    return "do", "CALL" if name.startswith("CALL") else name


def _numbers(found: list[Token], subject: Token) -> Iterator[Token]:
    """What stands beside `len(subject)` in a comparison, or after a minus in a slice of the subject."""
    for at, token in enumerate(found):
        if token != subject:
            continue
        after = found[at + 1 : at + 4]
        if found[at - 1 : at] == [LEN] and after[:1] == [CALL]:
            yield from after[1:2] if after[2:3] == [COMPARE] else ()
            yield from found[at - 2 : at - 1] if at >= 2 and after[1:2] == [COMPARE] else ()
        else:
            yield from _cut_to([one for one in after if one != NOTHING])


def _cut_to(after: list[Token]) -> Iterator[Token]:
    """The number of `subject[-number:]` or `subject[:-number]`."""
    kind, value = after[0] if after else NOTHING
    if kind == "const" and type(value) is int and value < 0:
        yield kind, -value
    elif after[1:2] == [NEGATIVE]:
        yield kind, value


def _value(number: Token, function: FunctionType, owners: list[object]) -> object:
    kind, name = number
    if kind == "const":
        return name
    names = str(name).split(".")
    if kind == "variable":
        return dict(_captured(function)).get(names[0])
    if kind == "global":
        return _attribute_of(dict.get(function.__globals__, names[0]), names[1:])
    return _attribute_of(holder(owners), names) if kind == "self" else MISSING


def _attribute_of(item: object, names: list[str]) -> object:
    for name in names:
        item = MISSING if item is None else read(item, name)
    return item


def _written(number: Token, function: FunctionType, owner: object) -> str:
    kind, name = number
    place = {"self": type_name(type(owner)), "global": function.__module__}.get(kind)
    if place is not None:
        return f"{place}.{name}"
    return f"<{name}>" if kind == "variable" else f"the number in {function.__qualname__}()"


def _about(container: object, owners: list[object]) -> Iterator[tuple[FunctionType, Token]]:
    """Functions that may speak of a container, with the token that it is in them."""
    owner = holder(owners)
    if owner is None:
        return
    if len(owners) == 1 and type(owner) is dict:  # a module's namespace
        for name in _names(owner, container):
            yield from ((one, ("global", name)) for one in functions_of_module(owner) if _speaks_of(one.__code__, name))
        return
    for name in _names(existing_dict(owner) or _attributes(owner, container), container):
        yield from ((one, ("self", name)) for one in functions_of_class(type(owner)) if _speaks_of(one.__code__, name))
    for function in (one for one in owners[-3:] if type(one) is FunctionType):
        names = [name for name, value in _captured(function) if value is container]
        yield from ((function, ("variable", name)) for name in names)


def _speaks_of(code: CodeType, name: str) -> bool:
    """Whether a function may compare the length of what is called so: most need not be taken apart to see that."""
    if name not in code.co_names:
        return False
    cuts = _MINUS in code.co_code or any(type(one) is int and one < 0 for one in code.co_consts)
    return (cuts or "len" in code.co_names) and all(map(_is_quiet, code.co_consts))


def _is_quiet(constant: object) -> bool:
    """Whether the `repr()` of a constant, which `dis` asks for, runs no code of the program's and cannot fail."""
    if type(constant) is tuple or type(constant) is frozenset:
        return all(map(_is_quiet, constant))
    if type(constant) is int:
        return constant.bit_length() <= _LONGEST_INT
    return any(type(constant) is one for one in _CONSTANTS)


def _names(namespace: dict[str, object], container: object) -> list[str]:
    found = (name for name, value in list(namespace.items()) if value is container and type(name) is str)
    return list(islice(found, 3))


def _attributes(owner: object, container: object) -> dict[str, object]:
    """Of an object without a namespace of its own: what it has under names that its methods mention."""
    mentioned = {name for one in functions_of_class(type(owner)) for name in one.__code__.co_names}
    return {name: container for name in mentioned if read(owner, name) is container}


def functions_of_module(namespace: dict[str, object]) -> Iterator[FunctionType]:
    """Functions of a module, and of classes that were written in it."""
    value: Any
    called = namespace.get("__name__")
    for value in islice(list(namespace.values()), MOST_NAMES if type(called) is str else 0):
        if type(value) is FunctionType and value.__globals__ is namespace:
            yield value
        elif derives(type(value), type) and type_module(value) == called:
            yield from _functions(value)


def functions_of_class(cls: type) -> Iterator[FunctionType]:
    """Functions of a class and its bases, of its properties too."""
    return chain.from_iterable(map(_functions, mro(cls)))


def _functions(cls: type) -> Iterator[FunctionType]:
    for value in islice(list(class_dict(cls).values()), MOST_NAMES):
        inner = value.__func__ if type(value) in {classmethod, staticmethod} else value
        if type(inner) is property:
            inner = inner.fget
        if type(inner) is FunctionType:
            yield inner


def _captured(function: FunctionType) -> list[tuple[str, object]]:
    pairs = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return [(name, _content(cell)) for name, cell in pairs]


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return MISSING
