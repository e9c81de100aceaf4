# SPDX-License-Identifier: Apache-2.0
"""What the patch cures on attention-only models, and that nothing else of a schedule changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.engines.vllm_compat import imported
from vllm_soak.patching.apply import apply_patch, undo
from vllm_soak.patching.registry import NEW_BLOCK_IDS
from vllm_soak.patching.status import Status

ATTENTION_ONLY = (("full",), ("mla",), ("full", "sliding"), ("full", "mla", "sliding"))
PROMPT, BLOCK = 220, 16
REQUESTS = 5
EARLIER = "0.17.0"


def serve(driver: Any, requests: int = REQUESTS) -> None:
    for family in range(requests):
        driver.add(family, PROMPT, 1)
        while driver.scheduler.has_unfinished_requests():
            driver.step()


@pytest.mark.usefixtures("affected")
@pytest.mark.parametrize("groups", [("full",), ("full", "sliding")])
def test_unpatched_affected_release_keeps_every_id(make_driver: Any, groups: Any) -> None:
    driver = make_driver(groups, blocks=200, caching=False)
    serve(driver)
    assert driver.recorded() == REQUESTS * -(-PROMPT // BLOCK)
    assert NEW_BLOCK_IDS.present(driver.scheduler)


@pytest.mark.parametrize("groups", ATTENTION_ONLY)
def test_patched_or_fixed_release_keeps_none(version: str, make_driver: Any, groups: Any) -> None:
    apply_patch(NEW_BLOCK_IDS, version)
    driver = make_driver(groups, blocks=200)
    serve(driver)
    assert not any(driver.left)
    assert not NEW_BLOCK_IDS.present(driver.scheduler)


def test_release_before_the_defect_has_no_such_list(version: str, make_driver: Any) -> None:
    if version != EARLIER:
        pytest.skip(f"about {EARLIER} only")
    assert apply_patch(NEW_BLOCK_IDS, version).status is Status.NOT_NEEDED
    driver = make_driver(["full", "sliding", "mla"], blocks=200, caching=False)
    serve(driver)
    managers = driver.scheduler.kv_cache_manager.coordinator.single_type_managers
    assert not any(hasattr(manager, "new_block_ids") for manager in managers)
    assert not NEW_BLOCK_IDS.present(driver.scheduler)


@pytest.mark.usefixtures("affected")
@pytest.mark.parametrize("groups", ATTENTION_ONLY)
def test_list_is_empty_after_every_schedule(version: str, make_driver: Any, streams: Any, groups: Any) -> None:
    @given(stream=streams, caching=st.booleans(), drafts=st.booleans(), blocks=st.integers(20, 80))
    def check(stream: list[Any], blocks: int, **options: bool) -> None:
        undo(NEW_BLOCK_IDS)
        before = make_driver(groups, blocks=blocks, **options).run(stream)
        assert apply_patch(NEW_BLOCK_IDS, version).status is Status.APPLIED
        driver = make_driver(groups, blocks=blocks, **options)
        assert driver.run(stream) == before
        assert not any(driver.left)

    check()


@pytest.mark.usefixtures("affected")
def test_scheduler_that_is_older_than_the_patch_is_drained(version: str, make_driver: Any) -> None:
    driver = make_driver(["full"], blocks=200)
    serve(driver)
    assert driver.recorded()
    apply_patch(NEW_BLOCK_IDS, version)
    serve(driver, 1)
    assert driver.recorded() == 0


@pytest.mark.usefixtures("affected")
def test_subclass_with_a_schedule_of_its_own_is_covered(
    version: str, make_driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = imported("vllm.v1.core.sched.scheduler", "Scheduler")
    upstream = base.schedule

    class OutOfTree(base):  # type: ignore[misc, valid-type] - the engine's classes are Any here
        def schedule(self, *arguments: Any) -> Any:
            return upstream(self, *arguments)  # never the patched one

    apply_patch(NEW_BLOCK_IDS, version)
    monkeypatch.setattr("vllm.config.SchedulerConfig.get_scheduler_cls", lambda _config: OutOfTree)
    driver = make_driver(["full"], blocks=200)
    assert type(driver.scheduler) is OutOfTree
    serve(driver)
    assert not any(driver.left)


@pytest.mark.usefixtures("affected")
def test_subclass_that_bypasses_everything_still_schedules(version: str, make_driver: Any, own_log: list[str]) -> None:
    apply_patch(NEW_BLOCK_IDS, version)
    driver = make_driver(["full"], blocks=200)
    manager = driver.scheduler.kv_cache_manager
    broken = type("Broken", (type(manager),), {"take_new_block_ids": lambda _self: 1 / 0})
    manager.__class__ = broken
    serve(driver)
    assert driver.scheduler.get_num_unfinished_requests() == 0
    assert own_log == ["vllm-soak: patch new-block-ids could not drain the ids of new blocks (ZeroDivisionError)."]


def external_allocation(manager: Any) -> Callable[[], None]:
    """Give a manager blocks for two blocks' worth of tokens that a KV connector would bring in."""
    if hasattr(manager, "allocate_external_computed_blocks"):
        return lambda: manager.allocate_external_computed_blocks("x", 0, 2 * BLOCK)
    return lambda: manager.allocate_new_computed_blocks("x", [], 0, 2 * BLOCK)


def only_manager(driver: Any) -> Any:
    return driver.scheduler.kv_cache_manager.coordinator.single_type_managers[0]


@pytest.mark.usefixtures("affected")
def test_blocks_for_external_tokens_are_not_recorded_either(version: str, make_driver: Any) -> None:
    unpatched = only_manager(make_driver(["full"], blocks=50))
    external_allocation(unpatched)()
    assert len(unpatched.new_block_ids) == 2
    apply_patch(NEW_BLOCK_IDS, version)
    patched = only_manager(make_driver(["full"], blocks=50))
    external_allocation(patched)()
    assert patched.new_block_ids == []
    assert len(patched.req_to_blocks["x"]) == 2


@pytest.mark.usefixtures("affected")
def test_manager_that_was_never_told_keeps_recording(version: str, make_driver: Any) -> None:
    manager = only_manager(make_driver(["full"], blocks=50))
    apply_patch(NEW_BLOCK_IDS, version)
    blocks = manager.allocate_new_blocks("x", 3 * BLOCK, 3 * BLOCK)
    assert manager.take_new_block_ids() == [block.block_id for block in blocks]


@pytest.mark.usefixtures("affected")
def test_exhausted_pool_raises_as_before(version: str, make_driver: Any) -> None:
    apply_patch(NEW_BLOCK_IDS, version)
    manager = only_manager(make_driver(["full"], blocks=4))
    with pytest.raises(ValueError, match="free blocks"):
        manager.allocate_new_blocks("x", 10 * BLOCK, 10 * BLOCK)
    assert manager.new_block_ids == []


@pytest.mark.usefixtures("affected")
def test_signatures_stay(version: str) -> None:
    scheduler = imported("vllm.v1.core.sched.scheduler", "Scheduler")
    manager = imported("vllm.v1.core.single_type_kv_cache_manager", "SingleTypeKVCacheManager")
    functions = [(scheduler, "__init__"), (scheduler, "schedule"), (manager, "allocate_new_blocks")]
    before = [inspect.signature(getattr(owner, name)) for owner, name in functions]
    apply_patch(NEW_BLOCK_IDS, version)
    assert [inspect.signature(getattr(owner, name)) for owner, name in functions] == before
