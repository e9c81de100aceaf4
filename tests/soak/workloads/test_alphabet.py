# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.workloads.alphabet import alphabet_size, digits, random_tokens

SIZES = [1 << bits for bits in range(1, 17)]


@given(st.integers(4, 1 << 20))
def test_alphabet_is_a_power_of_two_in_the_lower_half(vocab: int) -> None:
    size = alphabet_size(vocab)
    assert size.bit_count() == 1
    assert size <= vocab // 2


def test_alphabet_of_the_tiny_models_is_the_bytes() -> None:
    assert alphabet_size(512) == 256


def test_a_vocabulary_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        alphabet_size(3)


@given(st.text(max_size=20), st.integers(0, 600), st.sampled_from(SIZES))
def test_tokens_are_in_range_counted_and_repeatable(key: str, count: int, size: int) -> None:
    tokens = random_tokens(key, count, size)
    assert len(tokens) == count
    assert all(0 <= token < size for token in tokens)
    assert tokens == random_tokens(key, count, size)


@pytest.mark.parametrize("size", SIZES)
def test_tokens_use_the_whole_alphabet_evenly(size: int) -> None:
    tokens = random_tokens("spread", 20_000, size)
    upper = sum(token >= size // 2 for token in tokens)
    assert 9_500 < upper < 10_500  # seven standard deviations of a fair coin


@given(st.integers(0, 2**31), st.integers(4, 8), st.sampled_from(SIZES[7:]))
def test_digits_give_the_index_back(index: int, count: int, size: int) -> None:
    found = digits(index, count, size)
    assert sum(digit * size**place for place, digit in enumerate(found)) == index
