# SPDX-License-Identifier: Apache-2.0
"""A patch's behaviour check, on the engine's real scheduler under a little load."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vllm_soak.patching.patch import Patch

# The smallest model that an engine accepts; only its shape is read, no weight ever exists.
_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "max_position_embeddings": 2048,
}
_REQUESTS, _PROMPT_TOKENS = 4, 40


def defect(patch: Patch) -> str:
    """Whether the patch's defect shows in this process: `present`, `gone`, or `unknown (why)`."""
    if "scheduler" not in patch.subject:
        return f"unknown (needs {patch.subject})"
    try:
        return "present" if patch.present(_loaded_scheduler()) else "gone"
    except Exception as error:  # noqa: BLE001 - a check that cannot run is an answer, not a crash
        return f"unknown ({type(error).__name__}: {error})"


def _loaded_scheduler() -> Any:
    # The driver stands before the patches in the package's order; only this check, in a process of its
    # own, looks back at it.
    from vllm_soak.engines.core import CoreEngine

    with tempfile.TemporaryDirectory(prefix="vllm-soak-") as folder:
        Path(folder, "config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
        engine = CoreEngine(folder, {})
        for index in range(_REQUESTS):
            engine.submit(f"verify-{index}", [index + 1] * _PROMPT_TOKENS, 1)
        engine.step()
        return engine.scheduler
