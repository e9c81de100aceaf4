# SPDX-License-Identifier: Apache-2.0
"""What no root leads to: the rings of the collector."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from vllm_soak.heap import native
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.roots import all_roots

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


def test_every_object_that_the_collector_knows_is_reached() -> None:
    gc.collect()  # so that no other thread's is under way, or due
    walk = NativeWalk(all_roots())
    walk.run()
    assert walk.rings
    seen = {walk.table.object(at)[0] for at in range(walk.objects)}
    known = [one for one in gc.get_objects() if type(one).__module__ != "vllm_soak.heap.native"]
    missed = [one for one in known if id(one) not in seen]
    share = 1 - len(missed) / len(known)
    del known, missed
    walk.close()
    assert share > 0.995


def test_a_frozen_object_that_nothing_leads_to_is_found(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import ctypes, gc
        from vllm_soak.heap.native import NATIVE, NativeWalk
        from vllm_soak.heap.pace import WHOLE, Pace
        from vllm_soak.heap.roots import all_roots

        class Lost:
            pass

        def hide():
            lost = Lost()
            lost.inner = [1, 2, 3]
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
            return id(lost)

        address = hide()
        gc.freeze()
        for pace in (WHOLE, Pace(max_pause_ms=5.0)):
            walk = NativeWalk(all_roots(), pace=pace)
            walk.run()
            found = [walk.table.object(at)[0] for at in range(walk.objects)]
            whole_ring = pace == WHOLE or walk.table.counts["frozen"] >= gc.get_freeze_count()
            print(address in found, walk.unrooted()["Lost"], whole_ring)
            walk.close()
    """)
    assert output.split() == ["True", "1", "True"] * 2


def test_rings_are_left_alone_while_another_thread_collects(run_python: Callable[[str], str]) -> None:
    """What a collection frees is in a ring on its thread's stack, and finalizers let other threads run meanwhile."""
    output = run_python("""
        import gc, threading
        from vllm_soak.heap.census import Census
        from vllm_soak.heap.pace import WHOLE, Pace

        begun, end = threading.Event(), threading.Event()

        class Slow:
            def __init__(self):
                self.me = self

            def __del__(self):
                begun.set()
                end.wait()

        gc.disable()  # none but the thread's collection is to find it
        Slow()
        thread = threading.Thread(target=gc.collect)
        thread.start()
        begun.wait()
        census = Census()
        print(census.take(pace=WHOLE)["partial"])
        print(census.take(pace=Pace(max_pause_ms=0.1))["partial"])
        end.set()
        thread.join()
        print(census.take(pace=WHOLE)["partial"])
    """)
    why = "a collection was under way in another thread, so what no root reaches was not seen"
    assert output.splitlines() == [why, why, ""]


def test_a_walk_in_slices_waits_for_a_collection(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import gc, threading, time
        from vllm_soak.heap.native import NativeWalk
        from vllm_soak.heap.pace import Pace
        from vllm_soak.heap.roots import all_roots

        begun = threading.Event()

        class Slow:
            def __init__(self):
                self.me = self

            def __del__(self):
                begun.set()
                time.sleep(0.3)

        gc.freeze()
        frozen = gc.get_freeze_count()
        gc.disable()  # none but the thread's collection is to find it
        Slow()
        thread = threading.Thread(target=gc.collect)
        thread.start()
        begun.wait()
        walk = NativeWalk(all_roots(), pace=Pace(max_pause_ms=5.0))
        walk.run()
        print(walk.table.counts["collecting"], walk.table.counts["frozen"] >= frozen)
        thread.join()
    """)
    assert output.split() == ["0", "True"]
