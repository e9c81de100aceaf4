# SPDX-License-Identifier: Apache-2.0
"""Where a walk starts: every thread's frames with their locals, and the modules.

On CPython 3.11 and later a running frame's referents include neither its locals nor its caller, so the
whole chain of callers is followed and locals are read by name. Up to 3.12, reading `f_locals` leaves a
snapshot on the frame that pins every local until the frame ends; it is emptied at once, or the census
would itself become a retainer.
"""

from __future__ import annotations

import sys
import threading
from inspect import CO_OPTIMIZED
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap.attributes import derives, module_dict, read
from vllm_soak.heap.contexts import held_by_contexts

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from types import FrameType

# Where the census's own state and the probe's live: never walked, never reported.
OWN_MODULES = ("vllm_soak.heap", "vllm_soak.probe", "vllm_soak.sampling")
_WITHIN = tuple(f"{own}." for own in OWN_MODULES)
# Frames of a runner around the program: their names say little, so they come after all others.
_RUNNERS = frozenset({"pytest", "_pytest", "pluggy"})
_SNAPSHOTS = sys.version_info < (3, 13)


class Root(NamedTuple):
    """One place where a walk starts.

    Args:
        label: Local name, or module name.
        value: The local's value, or the module's namespace.
        place: `thread/function` of a local, empty for a module.
        owner: Name of the module whose code or namespace this is.
        late: Walked only when all else has been, so that plainer paths win.
    """

    label: str
    value: object
    place: str
    owner: str
    late: bool


def all_roots() -> list[Root]:
    """Locals of every thread's frames, outermost frame first, then modules by name, then what is late, contexts too.

    A namespace is named by its module, not by a local that is the same dictionary: `run_globals` of runpy, which
    starts a program under `python -m`, is the namespace of `__main__`.
    """
    modules = module_roots()
    namespaces = {id(root.value) for root in modules}
    plain: list[Root] = []
    late: list[Root] = []
    for root in frame_roots():
        (late if root.late or id(root.value) in namespaces else plain).append(root)
    return [*plain, *modules, *late, *context_roots()]


def module_roots(names: Container[str] | None = None) -> list[Root]:
    """Namespaces of all loaded modules but our own, or of those that are named: the engine's first, then by name."""
    loaded = [
        (name, module)
        for name, module in list(sys.modules.items())
        if type(name) is str and (names is None or name in names)
    ]
    loaded.sort(key=lambda pair: (not pair[0].startswith(("vllm", "__main__")), pair[0]))
    return [
        Root(name, module_dict(module), "", name, False)  # thousands: by name it takes longer
        for name, module in loaded
        if derives(type(module), ModuleType) and not is_own(name)
    ]


def frame_roots() -> Iterator[Root]:
    """Locals of every thread's frames but our own."""
    for thread, frame in _stacks():
        owner = _module_of(frame)
        if is_own(owner):
            continue
        place = f"{thread}/{frame.f_code.co_name}"
        for name, value in locals_of(frame):
            yield Root(label=name, value=value, place=place, owner=owner, late=_is_runner(owner))


def context_roots() -> Iterator[Root]:
    """Values of context variables in every thread's context."""
    names = _thread_names()
    for one in held_by_contexts():
        place = f"{names.get(one.thread, f'thread {one.thread}')}/context"
        yield Root(f"<contextvar {one.name}>", one.value, place=place, owner="contextvars", late=True)


def is_own(module: str) -> bool:
    """Whether a module belongs to the probe."""
    return module in OWN_MODULES or module.startswith(_WITHIN)


def locals_of(frame: FrameType) -> list[tuple[str, Any]]:
    """A frame's locals by name, leaving no snapshot behind; empty at the level of a loaded module (a root already).

    A frame that is being traced in Python is left alone: up to 3.12 the tracer writes the snapshot
    back into the frame, and an emptied one would unbind its locals.
    """
    if not frame.f_code.co_flags & CO_OPTIMIZED:
        return _names_of_body(frame)
    if _SNAPSHOTS and frame.f_trace is not None:
        return []
    namespace = frame.f_locals
    pairs = [(name, value) for name, value in list(namespace.items()) if type(name) is str]
    # Emptied unless the frame's own code holds it, having called `locals()`: then it is the user's.
    if _SNAPSHOTS and sys.getrefcount(namespace) <= _OURS_ALONE:
        namespace.clear()
    return pairs


def _names_of_body(frame: FrameType) -> list[tuple[str, Any]]:
    """What a class's body that runs, or a text in `exec()`, has bound so far: its namespace is no snapshot."""
    namespace = frame.f_locals
    if type(namespace) is not dict or _is_of_module(namespace):
        return []
    return [(name, value) for name, value in list(namespace.items()) if type(name) is str and name != "__builtins__"]


def _is_of_module(namespace: dict[str, Any]) -> bool:
    name = namespace.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return derives(type(module), ModuleType) and module_dict(module) is namespace


def _refcount_of_a_snapshot() -> int:
    frame = sys._getframe()  # noqa: SLF001 - documented, named so as not to be used lightly
    namespace = frame.f_locals
    return sys.getrefcount(namespace)


def _stacks() -> Iterator[tuple[str, FrameType]]:
    """Frames of each thread, outermost first; the main thread first, then by thread name."""
    names = _thread_names()
    stacks = [(names.get(ident, f"thread {ident}"), frame) for ident, frame in _frames().items()]
    stacks.sort(key=lambda stack: (stack[0] != "MainThread", stack[0]))
    for thread, innermost in stacks:
        chain: list[FrameType] = []
        frame: FrameType | None = innermost
        while frame is not None:
            chain.append(frame)
            frame = frame.f_back
        for one in reversed(chain):
            yield thread, one


def _frames() -> dict[int, FrameType]:
    """The innermost frame of each thread, of the running one that of the census's caller.

    The census's own frames must not be kept, not even in a local of theirs: each would then be part of a cycle with
    all that it refers to, which stays until the next collection.
    """
    found = sys._current_frames()  # noqa: SLF001 - documented, named so as not to be used lightly
    caller = _caller()
    if caller is None:
        del found[threading.get_ident()]
    else:
        found[threading.get_ident()] = caller
    return found


def _caller() -> FrameType | None:
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - likewise
    while frame is not None and is_own(_module_of(frame)):
        frame = frame.f_back
    return frame


def _thread_names() -> dict[int, str]:
    active: dict[int, threading.Thread] = dict(
        read(threading, "_active")
    )  # enumerate() would wait for a lock of the engine's
    names = {ident: read(thread, "_name") for ident, thread in active.items()}
    return {ident: name for ident, name in names.items() if type(name) is str}


def _module_of(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__", "")
    return name if type(name) is str else ""


def _is_runner(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _RUNNERS or (top in sys.stdlib_module_names and top != "__main__")


_OURS_ALONE = _refcount_of_a_snapshot() if _SNAPSHOTS else 0
