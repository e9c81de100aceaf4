# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.store.record import PatchRow
from vllm_soak.verdict.defects import known_defect, patch_status

SUFFIX = "single_type_managers[i].new_block_ids"


@pytest.mark.parametrize("head", ["", "engine.scheduler.kv_cache_manager.coordinator.", "threads[*].self."])
def test_the_lists_path_is_known_wherever_it_is_reached_from(head: str) -> None:
    found = known_defect(head + SUFFIX)
    assert found is not None
    assert (found.patch, found.upstream, found.affected) == ("new-block-ids", "vLLM PR 44490", "0.17.1-0.25.1")


def test_retainers_of_engines_on_mlx_are_known() -> None:
    batch = "engine.scheduler.batch_generator._generation_batch"
    found = [known_defect(f"{batch}.{end}") for end in ("_step.__func__.<orig_step>.<_state>", "logits_processors")]
    assert [one.patch for one in found if one] == ["mtp-state", "batch-lists"]
    assert known_defect("server.cache.<_state>") is None


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
    assert patch_status(rows, "EngineCore", "new-block-ids") == "applied"
    assert patch_status(rows, "Worker", "new-block-ids") == ""
    assert patch_status(rows, "EngineCore", "other") == ""
