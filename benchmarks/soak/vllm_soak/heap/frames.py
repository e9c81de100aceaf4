# SPDX-License-Identifier: Apache-2.0
"""Where a suspended frame stands: of generators, coroutines, exceptions, tracebacks and frames that are kept alive."""

from __future__ import annotations

from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    TracebackType,
)
from typing import Any

from vllm_soak.heap.attributes import derives, type_name

# Compared by identity, never hashed: a metaclass may define its own hash.
_PREFIXES = ((GeneratorType, "gi"), (CoroutineType, "cr"), (AsyncGeneratorType, "ag"))
_traceback = BaseException.__dict__["__traceback__"].__get__
_DEEPEST = 1000


def _prefix(cls: type) -> str | None:
    return next((prefix for one, prefix in _PREFIXES if cls is one), None)


def frame_of(item: Any) -> FrameType | None:
    """The frame of a generator, coroutine or traceback, or the frame itself; None when it has ended."""
    cls = type(item)
    if cls is FrameType:
        return item  # type: ignore[no-any-return]
    if cls is TracebackType:
        return item.tb_frame  # type: ignore[no-any-return]
    prefix = _prefix(cls)
    found = getattr(item, f"{prefix}_frame") if prefix else None
    return found if type(found) is FrameType else None


def shown_type(item: object) -> str:
    """Short name of an object's type, with the place where its frame stands if it holds one."""
    return f"{type_name(type(item))} {standing(item)}".rstrip()


def standing(item: Any) -> str:
    """`function (file.py:line)` of an object that holds a frame, of an exception where it was raised; else empty."""
    cls = type(item)
    if derives(cls, BaseException):
        item = _innermost(_traceback(item))
        cls = type(item)
    if cls is TracebackType:
        return _place(item.tb_frame.f_code, item.tb_lineno)
    frame = frame_of(item)
    if frame is not None:
        return _place(frame.f_code, frame.f_lineno)
    prefix = _prefix(cls)
    return _place(getattr(item, f"{prefix}_code"), None) if prefix else ""


def written(item: object) -> str:
    """`outer.<locals>.function (file.py:line)` of a function, which tells whose variables it captured; else empty."""
    if type(item) is not FunctionType:
        return ""
    code = item.__code__
    return f"{item.__qualname__} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"


def _innermost(found: Any) -> Any:
    """The traceback of the frame that raised, of a long one a frame further out."""
    for _ in range(_DEEPEST):
        below = None if found is None else found.tb_next
        if below is None:
            break
        found = below
    return found


def _place(code: CodeType, line: int | None) -> str:
    file = code.co_filename.rpartition("/")[2]
    return f"{code.co_name} ({file}:{line or code.co_firstlineno})"
