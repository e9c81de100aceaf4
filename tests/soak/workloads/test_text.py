# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.workloads.text import random_text


@settings(deadline=None)
@given(st.text(max_size=20), st.integers(0, 3000))
def test_a_text_has_its_length_and_repeats(key: str, chars: int) -> None:
    text = random_text(key, chars)
    assert len(text) == chars
    assert text.isascii()
    assert text == random_text(key, chars)
    assert "." not in text, "words fill it: nothing had to be padded"


def test_texts_differ_from_their_first_characters_on() -> None:
    assert len({random_text(f"0:{index}", 16) for index in range(5000)}) == 5000
