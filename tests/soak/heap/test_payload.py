# SPDX-License-Identifier: Apache-2.0
"""Bytes outside the heap; torch is not installed here, so a class in its place tells what it would."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from vllm_soak.heap.payload import payload_bytes


class Tensor:
    def __init__(self, size: int | None) -> None:
        self.size = size

    def untyped_storage(self) -> SimpleNamespace:
        if self.size is None:
            raise NotImplementedError("Cannot access storage of SparseTensorImpl")  # what torch says
        return SimpleNamespace(nbytes=lambda: self.size)


class Derived(Tensor):
    def untyped_storage(self) -> SimpleNamespace:
        raise AssertionError("asked")


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torch")
    module.Tensor = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


@pytest.mark.parametrize(("tensor", "size"), [(Tensor(40), 40), (Tensor(None), 0), (Derived(40), 0), ("text", 0)])
def test_only_a_tensor_with_a_storage_counts(tensor: object, size: int) -> None:
    assert payload_bytes(tensor) == size
