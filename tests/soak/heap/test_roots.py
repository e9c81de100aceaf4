# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from vllm_soak.heap.roots import all_roots, frame_roots, is_own, locals_of, module_roots


class Thing:
    pass


def test_locals_of_every_caller_are_roots() -> None:
    def inner() -> list[tuple[str, object]]:
        deepest = Thing()  # noqa: F841 - a root to be found
        return [(root.label, root.value) for root in frame_roots()]

    outer_local = Thing()
    found = dict(inner())
    assert found["outer_local"] is outer_local
    assert type(found["deepest"]) is Thing


def test_another_threads_locals_are_roots() -> None:
    ready, done = threading.Event(), threading.Event()

    def work() -> None:
        kept = Thing()  # noqa: F841 - a root to be found
        ready.set()
        done.wait()

    thread = threading.Thread(target=work, name="worker-thread")
    thread.start()
    ready.wait()
    try:
        places = {root.place for root in frame_roots() if root.label == "kept"}
    finally:
        done.set()
        thread.join()
    assert places == {"worker-thread/work"}


def test_reading_locals_pins_none_of_them() -> None:
    """Up to Python 3.12 a frame keeps the snapshot that `f_locals` returned."""
    thing = Thing()
    watch = weakref.ref(thing)
    pairs = locals_of(sys._getframe())
    assert dict(pairs)["thing"] is thing
    del thing, pairs
    assert watch() is None


def test_a_namespace_that_the_code_itself_holds_is_left_alone() -> None:
    def work() -> dict[str, Any]:
        value = 5
        namespace = locals()
        locals_of(sys._getframe())
        return namespace

    assert work()["value"] == 5


def test_a_modules_globals_are_not_emptied() -> None:
    namespace: dict[str, Any] = {"locals_of": locals_of, "sys": sys, "value": 1}
    exec(compile("found = locals_of(sys._getframe())", "<module>", "exec"), namespace)
    assert namespace["found"] == []
    assert namespace["value"] == 1


def test_a_frame_under_a_python_tracer_keeps_its_locals() -> None:
    """Up to Python 3.12 the snapshot is written back into the frame after each event."""

    def work() -> int:
        value = 5
        again = value
        return again + value

    def tracer(frame: Any, event: str, _argument: object) -> Any:
        if event == "line":
            locals_of(frame)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert work() == 10
    finally:
        sys.settrace(before)


def test_modules_are_roots_except_our_own() -> None:
    labels = {root.label for root in module_roots()}
    assert "threading" in labels
    assert not any(is_own(label) for label in labels)
    assert is_own("vllm_soak.heap.walk")
    assert not is_own("vllm_soak.patches")
    assert not is_own("vllm_soak.heaps")


def test_the_order_is_the_same_every_time() -> None:
    first = [(root.place, root.label) for root in all_roots()]
    again = [(root.place, root.label) for root in all_roots()]
    assert [one for one in first if one[1] != "first"] == [one for one in again if one[1] not in {"first", "again"}]
