# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from vllm_soak.heap.locate import Located, Locator, referent
from vllm_soak.heap.roots import Root
from vllm_soak.heap.walk import Walk


class Engine:
    def __init__(self) -> None:
        self.managers = [Manager()]
        self.by_key = {7: [1]}


class Manager:
    def __init__(self) -> None:
        self.ids: Any = [1]


def located(root: Root, target: object) -> tuple[Located, Locator]:
    walk, locator = Walk(), Locator([root])
    walk.run([root])
    at = next(at for at in range(len(walk.positions)) if walk.address(at) == id(target))
    found = locator.by_chain(walk.chain(at))
    assert found is not None
    assert found.path.root == root.label  # looked for now, and kept
    return found, locator


def local(value: object) -> Root:
    return Root(label="engine", value=value, place="MainThread/main", owner="tests", late=False)


@pytest.mark.parametrize("pick", [lambda one: one.managers[0].ids, lambda one: one.by_key[7], lambda one: one.managers])
def test_a_chain_and_its_path_lead_to_the_same_object(pick: Any) -> None:
    engine = Engine()
    found, locator = located(local(engine), pick(engine))
    assert found.item is pick(engine)
    assert found.owners[0] is engine
    again = locator.by_path(found.path)
    assert again is not None
    assert again.item is pick(engine)


def test_a_path_leads_to_what_is_there_now() -> None:
    engine = Engine()
    found, locator = located(local(engine), engine.managers[0].ids)
    engine.managers[0].ids = [1, 2]
    again = locator.by_path(found.path)
    assert again is not None
    assert again.item is engine.managers[0].ids
    engine.managers.clear()
    assert locator.by_path(found.path) is None


def test_a_chain_that_was_broken_meanwhile_leads_nowhere() -> None:
    engine = Engine()
    walk, locator = Walk(), Locator([local(engine)])
    walk.run([local(engine)])
    at = next(at for at in range(len(walk.positions)) if walk.address(at) == id(engine.managers[0].ids))
    kept, engine.managers[0].ids = engine.managers[0].ids, None
    assert locator.by_chain(walk.chain(at)) is None
    assert kept == [1]


def test_a_namespace_that_was_built_since_the_walk_is_passed_through() -> None:
    engine = Engine()
    walk, locator = Walk(), Locator([local(engine)])
    walk.run([local(engine)])
    at = next(at for at in range(len(walk.positions)) if walk.address(at) == id(engine.managers[0].ids))
    assert vars(engine)
    assert vars(engine.managers[0])
    found = locator.by_chain(walk.chain(at))
    assert found is not None
    assert found.item is engine.managers[0].ids
    assert found.path.text == "engine.managers[0].ids"


def test_a_root_that_is_gone_leads_nowhere() -> None:
    engine = Engine()
    found, _ = located(local(engine), engine.managers)
    assert Locator([]).by_path(found.path) is None
    assert Locator([]).by_chain([1, 2]) is None


def test_a_module_is_followed_by_its_names() -> None:
    module = ModuleType("tests.module")
    module.registry = {"name": [1]}  # type: ignore[attr-defined]
    root = Root(label="tests.module", value=vars(module), place="", owner="tests.module", late=False)
    found, locator = located(root, module.registry["name"])
    assert found.path.text == 'tests.module.registry["name"]'
    again = locator.by_path(found.path)
    assert again is not None
    assert again.item is module.registry["name"]


class Slotted:
    __slots__ = ("below",)


@pytest.mark.parametrize("built", [True, False])
def test_a_referent_is_found_by_its_address(built: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not built:
        monkeypatch.setattr("vllm_soak.heap.native.NATIVE", None)
    inner, slotted = [1], Slotted()
    slotted.below = inner
    for above in ([inner], {"key": inner}, {(1, 2): 1, 3: inner}, (7, inner), slotted):
        assert referent(above, id(inner)) is inner
        assert referent(above, id(slotted)) is (slotted if above is inner else None)
    for plain in (7, "text", int, None):  # nothing that the collector would look into
        assert referent(plain, id(inner)) is None
