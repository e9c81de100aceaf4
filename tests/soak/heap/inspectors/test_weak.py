# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import abc
import weakref
from typing import Any

import pytest

from vllm_soak.heap.inspectors.weak import weak_registry


class Interface(abc.ABC):  # noqa: B024 - only its registry matters
    pass


@pytest.mark.parametrize(
    "registry",
    [weakref.WeakSet(), weakref.WeakValueDictionary(), weakref.WeakKeyDictionary(), Interface._abc_impl],  # type: ignore[attr-defined]
)
def test_registries_of_weak_references_keep_nothing_alive(registry: Any) -> None:
    namespace = getattr(registry, "__dict__", None)
    owners = [registry] if namespace is None else [registry, namespace]
    assert type(registry).__name__ in weak_registry(owners)


@pytest.mark.parametrize("owner", [object(), {}, [weakref.ref(Interface)]])
def test_everything_else_does(owner: Any) -> None:
    assert weak_registry([owner]) == ""
    assert weak_registry([]) == ""
