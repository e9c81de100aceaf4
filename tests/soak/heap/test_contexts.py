# SPDX-License-Identifier: Apache-2.0
"""Values that only a running thread's context holds."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.contexts import held_by_contexts
from vllm_soak.heap.roots import all_roots, context_roots

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")

SESSIONS: contextvars.ContextVar[object] = contextvars.ContextVar("SESSIONS")


class Thing:
    pass


def values() -> list[object]:
    return [one.value for one in held_by_contexts() if one.name == "SESSIONS"]


def test_the_running_context_is_told() -> None:
    thing = Thing()

    def inside() -> list[object]:
        SESSIONS.set(thing)
        return values()

    assert contextvars.Context().run(inside) == [thing]
    assert values() == []


def test_other_threads_contexts_are_told_with_their_threads() -> None:
    ready, done = threading.Event(), threading.Event()

    def work() -> None:
        SESSIONS.set(Thing())
        ready.set()
        done.wait()

    thread = threading.Thread(target=work, name="context-thread")
    thread.start()
    ready.wait()
    try:
        found = [root for root in context_roots() if root.label == "<contextvar SESSIONS>"]
    finally:
        done.set()
        thread.join()
    assert [(root.place, type(root.value), root.late) for root in found] == [("context-thread/context", Thing, True)]
    assert values() == []


def test_a_tasks_context_is_told_while_the_task_runs() -> None:
    thing = Thing()

    async def work() -> list[object]:
        SESSIONS.set(thing)
        await asyncio.sleep(0)
        return values()

    assert asyncio.run(work()) == [thing]


def test_threads_that_come_and_go_are_listed_without_harm() -> None:
    ends = threading.Event()

    def churn() -> None:
        while not ends.is_set():
            short = threading.Thread(target=SESSIONS.set, args=(Thing(),))
            short.start()
            short.join()

    threads = [threading.Thread(target=churn) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(300):
            assert all(type(one) is Thing for one in values())
    finally:
        ends.set()
        for thread in threads:
            thread.join()


def test_what_only_a_context_holds_is_named_by_its_variable(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import contextvars, threading
        from vllm_soak.heap.census import Census
        from vllm_soak.heap.pace import WHOLE, Pace

        sessions = contextvars.ContextVar("sessions")
        turn, done = threading.Semaphore(0), threading.Semaphore(0)

        def work():
            sessions.set({})
            for at in iter(lambda: turn.acquire(timeout=60), False):
                sessions.get()[f"s{len(sessions.get())}"] = [at]
                done.release()

        threading.Thread(target=work, name="worker", daemon=True).start()
        for pace in (WHOLE, Pace(max_pause_ms=5.0)):
            census = Census()
            for taken in range(3):
                for _ in range(20):
                    turn.release()
                    done.acquire()
                rows = census.take(baseline=taken == 0, pace=pace)["populations"]
            print(next(row["path"] for row in rows if "sessions" in row["path"]))
    """)
    assert output.splitlines() == ["<contextvar sessions>"] * 2


def test_contexts_come_after_all_other_roots() -> None:
    def inside() -> list[bool]:
        SESSIONS.set(Thing())
        return [root.place.endswith("/context") for root in all_roots()]

    places = contextvars.Context().run(inside)
    assert places[-1]
    assert places == sorted(places)
