# SPDX-License-Identifier: Apache-2.0
"""A model of Gemma-3 type: five sliding-window layers to one of full attention, the reporter's kind."""

from __future__ import annotations

from typing import Any

from vllm_soak.engines.models.tokenizer import VOCAB_SIZE, token_ids

WINDOW = 64


def config(max_len: int) -> dict[str, Any]:
    """Content of `config.json`: 6 layers, hidden size 64, 2 heads of 32, windows of 64 tokens."""
    return {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 6,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "query_pre_attn_scalar": 32,
        "vocab_size": VOCAB_SIZE,
        "max_position_embeddings": max_len,
        "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": WINDOW,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        **token_ids(),
    }
