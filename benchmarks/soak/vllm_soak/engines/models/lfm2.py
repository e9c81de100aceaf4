# SPDX-License-Identifier: Apache-2.0
"""A hybrid model of LFM2 type: three short convolutions to one layer of full attention.

Convolution layers keep a state that must be zeroed in fresh blocks, so the engine consumes the ids
that the known defect piles up elsewhere: the negative control.
"""

from __future__ import annotations

from typing import Any

from vllm_soak.engines.models.tokenizer import VOCAB_SIZE, token_ids


def config(max_len: int) -> dict[str, Any]:
    """Content of `config.json`: 4 layers, hidden size 64, 2 heads of 32, convolutions of length 3."""
    return {
        "architectures": ["Lfm2ForCausalLM"],
        "model_type": "lfm2",
        "hidden_size": 64,
        "block_dim": 64,
        "conv_dim": 64,
        "conv_dim_out": 64,
        "conv_L_cache": 3,
        "conv_bias": False,
        "block_ff_dim": 128,
        "intermediate_size": 128,
        "block_auto_adjust_ff_dim": False,
        "block_multiple_of": 32,
        "block_ffn_dim_multiplier": 1.0,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "num_heads": 2,
        "num_key_value_heads": 2,
        "vocab_size": VOCAB_SIZE,
        "max_position_embeddings": max_len,
        "norm_eps": 1e-05,
        "rope_theta": 1000000.0,
        "layer_types": ["conv", "conv", "conv", "full_attention"],
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        **token_ids(),
    }
