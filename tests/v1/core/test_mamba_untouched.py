# SPDX-License-Identifier: Apache-2.0
"""On hybrid models the ids have a consumer: what it gets is the same with and without the patch."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.patching.apply import apply_patch, undo
from vllm_soak.patching.registry import NEW_BLOCK_IDS
from vllm_soak.patching.status import Status

HYBRID = (
    ("full", "mamba"),
    ("mamba", "full"),
    ("full", "mamba", "mamba", "mamba"),
    ("mla", "mamba"),
    ("full", "sliding", "mamba"),
    ("full", "mla", "sliding", "mamba"),
)


@pytest.mark.usefixtures("affected")
@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("groups", HYBRID)
def test_every_output_is_the_same(version: str, make_driver: Any, streams: Any, groups: Any, caching: bool) -> None:
    @given(stream=streams, drafts=st.booleans(), blocks=st.integers(12, 40))
    def check(stream: list[Any], drafts: bool, blocks: int) -> None:
        options = {"blocks": blocks * len(groups), "caching": caching, "drafts": drafts}
        undo(NEW_BLOCK_IDS)
        before = make_driver(groups, **options)
        expected = before.run(stream)
        assert apply_patch(NEW_BLOCK_IDS, version).status is Status.APPLIED
        after = make_driver(groups, **options)
        assert after.run(stream) == expected  # `new_block_ids_to_zero` is a list: its order counts
        assert after.left == before.left

    check()


def long_stream(seed: int) -> list[Any]:
    chance = random.Random(seed)
    ops: list[Any] = []
    for _ in range(400):
        kind = chance.choices(["add", "abort", "step"], [3, 1, 16])[0]
        arguments = {
            "add": (chance.randrange(4), chance.randint(1, 150), chance.randint(1, 40)),
            "abort": (chance.randrange(8),),
            "step": (chance.randint(0, 3), chance.randint(0, 3)),
        }
        ops.append((kind, *arguments[kind]))
    return ops


@pytest.mark.parametrize("drafts", [True, False])
def test_streams_reach_what_they_are_about(version: str, make_driver: Any, drafts: bool) -> None:
    """Blocks to zero, prefix hits, preemption and speculation occur, patched where the release is affected."""
    apply_patch(NEW_BLOCK_IDS, version)
    seen: list[Any] = []
    for seed in range(12):
        driver = make_driver(["full", "mamba"], blocks=36, caching=True, drafts=drafts)
        seen += [output for output in driver.run(long_stream(seed)) if isinstance(output, dict)]
    if version != "0.17.0":  # zeroes nothing yet
        assert any(output["new_block_ids_to_zero"] for output in seen)
    assert any(request["num_computed_tokens"] for output in seen for request in output["scheduled_new_reqs"])
    assert any(output["preempted_req_ids"] for output in seen)
    assert any(output["scheduled_spec_decode_tokens"] for output in seen) is drafts
