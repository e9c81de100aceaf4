# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import gc
import sys
from types import ModuleType
from typing import Any

import pytest

from vllm_soak.heap import attributes
from vllm_soak.heap.attributes import MISSING, read


class Trap:
    """Everything that a careless reader would run raises."""

    def __init__(self) -> None:
        self.plain = [1]
        self.shadowed = [2]

    def shadowed(self) -> None: ...

    @property
    def lazy(self) -> Any:
        raise AssertionError("a property ran")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"__getattr__({name}) ran")


class Slotted:
    __slots__ = ("empty", "value")

    def __init__(self) -> None:
        self.value = [1]


def test_plain_attributes_are_read_and_nothing_else_runs() -> None:
    trap = Trap()
    assert read(trap, "plain") == [1]
    assert read(trap, "absent") is MISSING
    assert read(trap, "lazy") is MISSING


def test_slots_are_read() -> None:
    assert read(Slotted(), "value") == [1]
    assert read(Slotted(), "empty") is MISSING


def test_an_overridden_getattribute_does_not_run() -> None:
    class Guarded:
        def __init__(self) -> None:
            self.inner = [3]

        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"__getattribute__({name}) ran")

    assert read(Guarded(), "inner") == [3]


def test_a_lazy_module_attribute_is_absent() -> None:
    module = ModuleType("lazy")

    def load(name: str) -> Any:
        raise AssertionError(f"module __getattr__({name}) ran")

    module.__getattr__ = load  # type: ignore[method-assign]
    module.here = [1]  # type: ignore[attr-defined]
    assert read(module, "here") == [1]
    assert read(module, "there") is MISSING


def test_a_metaclass_is_not_asked() -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise AssertionError(f"metaclass __getattribute__({name}) ran")

    made: Any = Meta("Made", (), {"registry": [1]})
    assert read(made, "registry") == [1]
    assert attributes.type_name(made) == "Made"
    assert attributes.type_module(made) == __name__


@pytest.mark.skipif(sys.version_info < (3, 11), reason="instances always have a dictionary before 3.11")
def test_reading_by_name_does_not_build_the_namespace() -> None:
    trap = Trap()
    assert not any(type(one) is dict for one in gc.get_referents(trap))
    read(trap, "plain")
    assert attributes.existing_dict(trap) is None
    assert not any(type(one) is dict for one in gc.get_referents(trap))


def test_a_namespace_that_exists_is_told_from_an_attribute_that_is_a_dict() -> None:
    trap = Trap()
    namespace = vars(trap)
    # So many attributes that every release of the interpreter keeps them in a dictionary.
    namespace.update({"extra": {"plain": [1]}}, **{f"attribute_{at}": at for at in range(100)})
    assert attributes.existing_dict(trap) is namespace


def test_names_that_methods_mention_and_annotations_declare() -> None:
    class Noted:
        declared: int

        def method(self) -> Any:
            return self.mentioned  # type: ignore[attr-defined]

        @classmethod
        def build(cls) -> Any:
            return cls.through_a_classmethod  # type: ignore[attr-defined]

    assert {"declared", "mentioned", "through_a_classmethod"} <= set(attributes.mentioned(Noted))


class Memoised:
    """What it holds is computed once, and stands where the class has the property."""

    computed = 0

    @functools.cached_property
    def cache(self) -> dict[str, int]:
        type(self).computed += 1
        return {"one": 1}

    @functools.cached_property
    def other(self) -> dict[str, int]:
        raise AssertionError("computed")


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="an instance does not refer to its namespace there")
def test_a_namespace_of_cached_properties_only_is_one() -> None:
    one = Memoised()
    assert one.cache == {"one": 1}
    found = attributes.existing_dict(one)
    assert found is not None
    assert found["cache"] is one.cache
    assert read(one, "cache") is one.cache
    assert read(one, "other") is MISSING
    assert Memoised.computed == 1


def test_a_dict_that_only_looks_like_one_computes_nothing() -> None:
    one = Memoised()
    one.__dict__["plain"] = {"other": 2}
    assert attributes.existing_dict(one) is not one.__dict__["plain"]


class Wide(dict[Any, Any]):
    name = ""


def test_references_of_a_builtin_container_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have millions, and has no namespace."""

    def fail(*_: object) -> None:
        raise AssertionError("listed")

    monkeypatch.setattr(gc, "get_referents", fail)
    for one in ({"inner": {}}, [{}], ({},)):
        assert attributes.existing_dict(one) is None
    wide = Wide.fromkeys(range(30_000))
    wide.name = "it"
    assert attributes.existing_dict(wide) is wide.__dict__
