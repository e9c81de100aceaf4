# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.workloads.unique import Unique

BLOCK = 16


def unique(seed: int = 0, input_len: int = 220, vocab_size: int = 512) -> Unique:
    return Unique(input_len=input_len, output_len=1, vocab_size=vocab_size, seed=seed)


def test_no_two_of_many_requests_share_their_first_block() -> None:
    workload = unique()
    starts = {tuple(workload.prompt(index)[:BLOCK]) for index in range(20_000)}
    assert len(starts) == 20_000


@given(st.integers(0, 2**31), st.integers(0, 2**31))
def test_two_requests_differ_within_their_first_tokens(left: int, right: int) -> None:
    prompts = [tuple(unique().prompt(index)[:4]) for index in (left, right)]
    assert (prompts[0] == prompts[1]) == (left == right)


@given(st.integers(0, 2**31), st.integers(0, 9), st.integers(1, 400), st.sampled_from([512, 32_000, 151_936]))
def test_a_request_is_always_the_same(index: int, seed: int, length: int, vocab: int) -> None:
    prompt = unique(seed, length, vocab).prompt(index)
    assert prompt == unique(seed, length, vocab).prompt(index)
    assert len(prompt) == length
    assert max(prompt) < vocab


def test_seeds_differ() -> None:
    assert unique(0).prompt(7) != unique(1).prompt(7)
