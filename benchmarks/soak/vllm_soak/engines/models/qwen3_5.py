# SPDX-License-Identifier: Apache-2.0
"""A hybrid model of Qwen3.5 type: three GatedDeltaNet layers to one of full attention, with or without an MTP head."""

from __future__ import annotations

from typing import Any

from vllm_soak.engines.models.tokenizer import VOCAB_SIZE, token_ids


def config(max_len: int, mtp_layers: int = 0, *, layers: int = 4, heads: int = 2) -> dict[str, Any]:
    """Content of `config.json`.

    Args:
        max_len: Longest sequence in tokens.
        mtp_layers: Layers of the head that drafts tokens (multi-token prediction); 0 for no head.
        layers: Of which the last is attention, the others are recurrent.
        heads: Of attention, each of 32; the hidden size is 32 a head.
    """
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "hidden_size": 32 * heads,
        "intermediate_size": 64 * heads,
        "num_hidden_layers": layers,
        "full_attention_interval": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": 32,
        "linear_num_value_heads": 2 * heads,
        "linear_num_key_heads": heads,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4,
        "vocab_size": VOCAB_SIZE,
        "max_position_embeddings": max_len,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {"type": "default", "rope_theta": 100000, "partial_rotary_factor": 0.25},
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        **({"mtp_num_hidden_layers": mtp_layers} if mtp_layers else {}),
        **token_ids(),
    }
