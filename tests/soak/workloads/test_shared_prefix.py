# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.workloads.shared_prefix import SharedPrefix


def shared(prefix_len: int = 64, input_len: int = 32, seed: int = 0) -> SharedPrefix:
    return SharedPrefix(prefix_len=prefix_len, input_len=input_len, output_len=1, vocab_size=512, seed=seed)


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 200))
def test_prompts_share_the_prefix_and_nothing_else(left: int, right: int, prefix_len: int) -> None:
    first, second = (shared(prefix_len).prompt(index) for index in (left, right))
    assert first[:prefix_len] == second[:prefix_len]
    assert len(first) == prefix_len + 32
    assert (first[prefix_len : prefix_len + 4] == second[prefix_len : prefix_len + 4]) == (left == right)


def test_a_prompt_does_not_alias_the_prefix() -> None:
    workload = shared()
    workload.prompt(0)[0] = -1
    assert workload.prompt(1)[0] != -1


def test_the_prefix_follows_the_seed() -> None:
    assert shared(seed=1).prefix != shared(seed=2).prefix
