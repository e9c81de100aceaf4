# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
from types import ModuleType
from typing import Any

from vllm_soak.heap.path import owner_module, trace
from vllm_soak.heap.roots import Root


def made(name: str, module: str, **attributes: Any) -> Any:
    cls = type(name, (), {"__module__": module})
    item = cls()
    item.__dict__.update(attributes)
    return item


def local(label: str, value: object, owner: str = "__main__") -> Root:
    return Root(label=label, value=value, place="MainThread/main", owner=owner, late=False)


def engine() -> tuple[Any, list[Any]]:
    manager = made("FullAttentionManager", "vllm.v1.core.managers", new_block_ids=[1])
    scheduler = made("Scheduler", "vllm.v1.core.sched.scheduler", managers=(manager,))
    ids = manager.new_block_ids
    return scheduler, [*down(scheduler, scheduler.managers), scheduler.managers, *down(manager, ids), ids]


def down(above: Any, below: object) -> list[Any]:
    """An object, and its namespace where the interpreter shows that between it and the attribute's value."""
    direct = any(one is below for one in gc.get_referents(above))
    return [above] if direct else [above, vars(above)]


def test_namespaces_are_passed_over() -> None:
    scheduler, chain = engine()
    path = trace(local("scheduler", scheduler), chain)
    assert path.text == "scheduler.managers[0].new_block_ids"
    assert path.template == "scheduler.managers[i].new_block_ids"
    assert path.steps == [
        {"label": "scheduler", "type": "Scheduler"},
        {"label": "managers[0]", "type": "FullAttentionManager"},
        {"label": "new_block_ids", "type": "list"},
    ]


def test_the_fingerprint_starts_at_the_engines_first_object() -> None:
    scheduler, chain = engine()
    harness = made("Driver", "somewhere", inner=scheduler)
    direct = trace(local("anything", scheduler), chain)
    through = trace(local("driver", harness), [*down(harness, scheduler), *chain])
    assert direct.fingerprint == through.fingerprint
    assert len(direct.fingerprint) == 12
    int(direct.fingerprint, 16)


def test_the_fingerprint_tells_attributes_apart() -> None:
    scheduler, chain = engine()
    manager = scheduler.managers[0]
    manager.other = [1]
    above = chain[: chain.index(manager)]
    other = trace(local("scheduler", scheduler), [*above, *down(manager, manager.other), manager.other])
    assert other.fingerprint != trace(local("scheduler", scheduler), chain).fingerprint


def test_a_module_root_reads_as_its_attribute() -> None:
    module = ModuleType("vllm.cache")
    module.REGISTRY = {}  # type: ignore[attr-defined]
    root = Root(label="vllm.cache", value=vars(module), place="", owner="vllm.cache", late=False)
    path = trace(root, [vars(module), module.REGISTRY])
    assert path.text == "vllm.cache.REGISTRY"
    assert path.steps[0] == {"label": "vllm.cache", "type": "module"}
    assert owner_module(path) == "vllm.cache"


def test_the_owner_is_the_nearest_object_of_a_class() -> None:
    scheduler, chain = engine()
    assert owner_module(trace(local("scheduler", scheduler), chain)) == "vllm.v1.core.managers"
    lone: list[int] = []
    assert owner_module(trace(local("lone", lone, owner="harness"), [lone])) == "harness"


def test_a_growing_namespace_is_named() -> None:
    wide = made("Wide", "vllm.wide", **{f"attribute_{at}": [at] for at in range(100)})
    assert trace(local("wide", wide), [wide, vars(wide)]).text == "wide.__dict__"


def test_a_captured_variable_is_named() -> None:
    state: dict[int, int] = {}

    def step() -> dict[int, int]:
        return state

    closure: Any = step.__closure__
    holder = [step]
    path = trace(local("holder", holder), [holder, step, closure, closure[0], state])
    assert path.text == "holder[0].<state>"
    assert path.rungs[-1].type == "dict"
    assert path.rungs[1].shown.startswith(f"function {step.__qualname__} (test_path.py:")
