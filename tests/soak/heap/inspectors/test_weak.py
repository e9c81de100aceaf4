# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import abc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from vllm_soak.heap.inspectors.weak import weak_registry

Way = Callable[[object], list[object]]


class Interface(abc.ABC):  # noqa: B024 - only its registry matters
    pass


@pytest.mark.parametrize(
    "registry",
    [weakref.WeakSet(), weakref.WeakValueDictionary(), weakref.WeakKeyDictionary(), Interface._abc_impl],  # type: ignore[attr-defined]
)
def test_registries_of_weak_references_keep_nothing_alive(registry: Any, way_to: Way) -> None:
    assert type(registry).__name__ in weak_registry({}, way_to(registry))


@pytest.mark.parametrize("owner", [object(), {}, [weakref.ref(Interface)]])
def test_everything_else_does(owner: Any) -> None:
    assert weak_registry({}, [owner]) == ""
    assert weak_registry({}, []) == ""


def test_a_list_of_weak_references_to_what_is_alive_keeps_nothing_alive() -> None:
    class Session:
        pass

    kept = [Session() for _ in range(5)]
    references = [weakref.ref(one) for one in kept]
    assert "weak references only" in weak_registry(references, [])
    assert "weak references only" in weak_registry(set(references), [])
    assert weak_registry([*references, kept[0]], []) == ""
    kept.clear()
    assert weak_registry(references, []) == ""  # that pile up by themselves
    assert weak_registry([], []) == ""
