# SPDX-License-Identifier: Apache-2.0
"""A small byte-level BPE tokenizer, written as JSON: 256 bytes, 248 merges, 8 special tokens.

Every text round-trips, because every byte is a token; the merges make common English shorter, as in
a real tokenizer. The file formats are those of the `tokenizers` and `transformers` libraries.
"""

from __future__ import annotations

from typing import Any

VOCAB_SIZE = 512
VOWELS = "aeiou"
CONSONANTS = "bcdfghjklmnpqrstvwxyz"
FREQUENT = ("th", "st", "nd", "ng", "ch", "sh", "ss", "ll", "tt", "ea", "ou", "er")
SPECIAL = (
    "<|bos|>",
    "<|eos|>",
    "<|pad|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|reserved_0|>",
    "<|reserved_1|>",
    "<|reserved_2|>",
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_letters() -> list[str]:
    """The printable letter that byte-level BPE writes for each byte, by byte value.

    Printable bytes stand for themselves; the others are moved to code points from 256 on, in order,
    which is the convention of the ByteLevel pre-tokenizer.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    letters, moved = [], 256
    for value in range(256):
        letters.append(chr(value) if value in printable else chr(moved))
        moved += value not in printable
    return letters


def merges() -> list[tuple[str, str]]:
    """Pairs that are merged, most frequent kinds first."""
    space = byte_letters()[0x20]
    words = [(space, letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
    syllables = [(first, second) for first in CONSONANTS for second in VOWELS]
    endings = [(first, second) for first in VOWELS for second in CONSONANTS if first + second != "er"]
    fillers = [("e", "e")]
    return words + [(pair[0], pair[1]) for pair in FREQUENT] + syllables + endings + fillers


def vocabulary() -> dict[str, int]:
    """Token to id, without the special tokens: bytes first, then one token for each merge."""
    tokens = byte_letters() + [first + second for first, second in merges()]
    return {token: place for place, token in enumerate(tokens)}


def special_ids() -> dict[str, int]:
    """Special token to id; they sit at the top of the vocabulary."""
    first = VOCAB_SIZE - len(SPECIAL)
    return {token: first + place for place, token in enumerate(SPECIAL)}


def tokenizer_json() -> dict[str, Any]:
    """Content of `tokenizer.json`."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token(token, place) for token, place in special_ids().items()],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": level,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary(),
            "merges": [f"{first} {second}" for first, second in merges()],
        },
    }


def added_token(token: str, place: int) -> dict[str, Any]:
    """One special token as `tokenizer.json` lists it."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": place, "content": token, **flags, "special": True}


def tokenizer_config(max_len: int) -> dict[str, Any]:
    """Content of `tokenizer_config.json`.

    Args:
        max_len: Longest sequence of the model in tokens.
    """
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|bos|>",
        "eos_token": "<|eos|>",
        "pad_token": "<|pad|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": max_len,
        "chat_template": CHAT_TEMPLATE,
    }


def token_ids() -> dict[str, int]:
    """`bos_token_id`, `eos_token_id` and `pad_token_id` for a model's config."""
    ids = special_ids()
    return {f"{name}_token_id": ids[f"<|{name}|>"] for name in ("bos", "eos", "pad")}
