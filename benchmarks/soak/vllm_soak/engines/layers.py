# SPDX-License-Identifier: Apache-2.0
"""KV-cache specs of a model's layers, read from its `config.json`: the core driver's model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vllm_soak.engines import vllm_compat

MAMBA_KINDS = ("conv", "linear_attention", "mamba", "short_conv")


def read_config(model: str) -> dict[str, Any]:
    """The text part of a model folder's `config.json`.

    Raises:
        FileNotFoundError: The folder has none.
    """
    whole: dict[str, Any] = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
    text = whole.get("text_config") or {}
    return {**whole, **text}


def layer_kinds(config: dict[str, Any]) -> list[str]:
    """`full_attention`, `sliding_attention` or `mamba` for each layer, in order."""
    types = config.get("layer_types") or ["full_attention"] * int(config["num_hidden_layers"])
    return ["mamba" if kind in MAMBA_KINDS else kind for kind in types]


def head_size(config: dict[str, Any]) -> int:
    """Elements of one attention head."""
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def layer_specs(config: dict[str, Any], *, block_size: int, max_model_len: int, dtype: Any) -> dict[str, Any]:
    """One KV-cache spec for each layer, by layer name.

    Attention pages are `2 * block_size * heads * head size * bytes of an element`; a state layer gets
    a page of the same size, as the engine pads them, and one block for a whole sequence.

    Args:
        config: As from `read_config`.
        block_size: Tokens of an attention block.
        max_model_len: Longest sequence in tokens.
        dtype: Torch type of the cache.
    """
    heads, size = int(config.get("num_key_value_heads") or config["num_attention_heads"]), head_size(config)
    attention = {"block_size": block_size, "num_kv_heads": heads, "head_size": size, "dtype": dtype}
    page = 2 * block_size * heads * size * dtype.itemsize
    state = {
        "block_size": max_model_len,
        "shapes": ((max(1, page // dtype.itemsize),),),
        "dtypes": (dtype,),
        "page_size_padded": page,
    }
    window = {"sliding_window": int(config.get("sliding_window") or max_model_len)}
    extra = {"full_attention": attention, "sliding_attention": attention | window, "mamba": state}
    return {
        f"model.layers.{index}": vllm_compat.kv_spec(kind, **extra[kind])
        for index, kind in enumerate(layer_kinds(config))
    }
