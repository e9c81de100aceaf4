# SPDX-License-Identifier: Apache-2.0
"""A dense model of Llama type: every layer has full attention."""

from __future__ import annotations

from typing import Any

from vllm_soak.engines.models.tokenizer import VOCAB_SIZE, token_ids


def config(max_len: int) -> dict[str, Any]:
    """Content of `config.json`: 2 layers, hidden size 64, 2 heads of 32."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "vocab_size": VOCAB_SIZE,
        "max_position_embeddings": max_len,
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        **token_ids(),
    }
