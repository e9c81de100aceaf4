# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.models import tokenizer

SCRIPT = """
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
texts = json.loads(sys.argv[2])
ids = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
chat = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True)
answer({
    "back": [tokenizer.decode(one) for one in ids], "ids": ids, "chat": chat, "size": len(tokenizer),
    "special": [tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id],
    "chat_ids": tokenizer.encode(chat, add_special_tokens=False),
})
"""
TEXTS = ["the other house", "Grüße, 世界 🌍", "tab\tand\nnewline  two spaces", "\x00\x7f", "def f(x): return x**2"]


def test_the_vocabulary_is_full_and_without_gaps() -> None:
    ids = {**tokenizer.vocabulary(), **tokenizer.special_ids()}
    assert sorted(ids.values()) == list(range(tokenizer.VOCAB_SIZE))


def test_every_merge_joins_known_tokens() -> None:
    known = set(tokenizer.vocabulary())
    for first, second in tokenizer.merges():
        assert {first, second, first + second} <= known


def test_bytes_have_their_own_values_as_ids() -> None:
    letters = tokenizer.byte_letters()
    assert len(set(letters)) == 256
    assert [tokenizer.vocabulary()[letter] for letter in letters] == list(range(256))


@pytest.mark.engine
def test_the_engines_library_loads_it_and_text_round_trips(
    affected_engine: Any, in_engine: Callable[..., Any], tiny: Callable[[str], str]
) -> None:
    found = in_engine(Path(affected_engine.python), SCRIPT, tiny("tiny:llama"), json.dumps(TEXTS))
    assert found["back"] == TEXTS
    assert found["size"] == tokenizer.VOCAB_SIZE
    assert len(found["ids"][0]) < len(TEXTS[0])  # merges are used
    assert found["special"] == list(tokenizer.token_ids().values())
    assert found["chat"] == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert found["chat_ids"][0] == tokenizer.special_ids()["<|im_start|>"]
