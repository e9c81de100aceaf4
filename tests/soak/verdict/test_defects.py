# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.patching.registry import PATCHES
from vllm_soak.store.record import PatchRow
from vllm_soak.verdict.defects import KNOWN, NO_PATCH, known_defect, known_ring, patch_status

STATE = "batch._step.__func__.<orig_step>.<_state>"
SUFFIX = "single_type_managers[i].new_block_ids"


@pytest.mark.parametrize("head", ["", "engine.scheduler.kv_cache_manager.coordinator.", "threads[*].self."])
def test_the_lists_path_is_known_wherever_it_is_reached_from(head: str) -> None:
    found = known_defect(head + SUFFIX)
    assert found is not None
    assert (found.name, found.upstream, found.affected) == ("new-block-ids", "vLLM PR 44490", "0.17.1-0.25.1")


def test_retainers_of_engines_on_mlx_are_known() -> None:
    batch = "engine.scheduler.batch_generator._generation_batch"
    found = [known_defect(f"{batch}.{end}") for end in ("_step.__func__.<orig_step>.<_state>", "logits_processors")]
    assert [one.name for one in found if one] == ["mtp-state", "batch-lists"]
    assert known_defect("server.cache.<_state>") is None
    cache = known_defect("engine.scheduler.prefix_cache._cache")
    assert cache is not None
    assert cache.name == "prefix-cache-bytes"
    older, ring = known_defect(f"{batch}._step.<_state>"), known_ring("KVCache.filter.__self__ -> KVCache")
    assert [one.name for one in (older, ring) if one] == ["mtp-state", "singleton-cycle"]


@pytest.mark.parametrize(
    "template", ["", "new_block_ids", f"{SUFFIX}[i]", f"a.multi_{SUFFIX}", "a.other[i].new_block_ids"]
)
def test_other_paths_are_not(template: str) -> None:
    assert known_defect(template) is None


def test_the_status_of_a_patch_is_that_of_the_process() -> None:
    rows = [
        PatchRow("run", "EngineCore", "new-block-ids", "failed", ""),
        PatchRow("run", "EngineCore", "new-block-ids", "applied", ""),
        PatchRow("run", "APIServer", "new-block-ids", "disabled", ""),
    ]
    listed = known_defect(SUFFIX)
    assert patch_status(rows, "EngineCore", listed) == "applied"
    assert patch_status(rows, "Worker", listed) == ""
    assert patch_status(rows, "EngineCore", known_defect(STATE)) == ""
    assert patch_status(rows, "EngineCore", None) == ""


CORPUS = {
    "llm.llm_engine.engine_core.engine_core.scheduler.kv_metrics_collector._eviction_events": "kv-eviction-events",
    "main.<coroutine>.<coroutine>.app.state._state[*].response_store": "responses-store",
    "main.<coroutine>.<coroutine>.app.state._state[*].msg_store": "responses-store",
    "processor.output_processor.lora_states.lora_name_to_stats": "lora-stats",
}


@pytest.mark.parametrize("template", CORPUS)
def test_the_corpus_has_names_and_no_patch(template: str) -> None:
    found = known_defect(template)
    assert found is not None
    assert found.name == CORPUS[template]
    assert found.workaround
    assert patch_status([], "EngineCore", found) == NO_PATCH


def test_a_known_ring_is_told_by_its_beginning() -> None:
    found = known_ring("Request.get_hash_new_full_blocks -> partial.args[i] -> Request")
    assert found is not None
    assert found.name == "request-block-hasher-cycle"
    assert known_ring("Node.next -> Node") is None


def test_every_defect_with_a_patch_bears_the_name_of_one() -> None:
    names = {one.name for one in KNOWN if not one.workaround}
    assert names <= {patch.name for patch in PATCHES}
