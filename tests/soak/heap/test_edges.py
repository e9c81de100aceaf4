# SPDX-License-Identifier: Apache-2.0
"""Cyclic garbage, told from the references between objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vllm_soak.heap import native

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


def test_garbage_is_told_from_what_native_code_holds(run_python: Callable[[str], str]) -> None:
    output = run_python("""
        import ctypes, gc
        from vllm_soak.heap.native import NativeWalk
        from vllm_soak.heap.roots import all_roots

        def cyclic_garbage():
            walk = NativeWalk(all_roots(), edges=True)
            walk.run()
            found = walk.garbage()
            walk.close()
            return found

        class Knot:
            pass

        class Tail:
            pass

        class Held:
            pass

        gc.disable()
        gc.collect()

        def tie():
            one, two = Knot(), Knot()
            one.other, two.other = two, one
            one.tail = Tail()

        def hold():
            held = Held()
            held.other, held.own = Held(), held
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))

        for _ in range(100):
            tie()
        for _ in range(10):
            hold()
        found = cyclic_garbage()
        freed = gc.collect()
        print(found.get("Knot"), found.get("Tail"), found.get("Held"), freed >= 200, cyclic_garbage().get("Knot"))
    """)
    assert output.split() == ["200", "100", "None", "True", "None"]
