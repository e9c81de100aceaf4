# SPDX-License-Identifier: Apache-2.0
"""Random weights for a tiny model's folder, always the same ones; made with the engine's own mlx-lm."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

WEIGHTS = "model.safetensors"
# The head that drafts tokens stands apart, where the loader of the model proper does not look.
HEAD = Path("mtp", "weights.safetensors")
SEED = 11
# How the names of the folders begin that `engines/models/build.py` makes.
OURS = "tiny-"
# Small enough that activations stay finite, large enough that outputs depend on the whole prompt.
SCALE = 0.05


def lacks_weights(folder: Path) -> bool:
    """Whether this is the folder of a tiny model, and weights that its `config.json` asks for are not there yet.

    Anybody else's model has its weights under names that are not known here, and is never written to.
    """
    if not folder.name.startswith(OURS) or not (folder / "config.json").is_file():
        return False
    headed = not read_config(folder).get("mtp_num_hidden_layers") or (folder / HEAD).exists()
    return not headed or not (folder / WEIGHTS).exists()


def read_config(folder: Path) -> dict[str, Any]:
    """Content of a folder's `config.json`."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config


def ensure_weights(folder: Path) -> None:
    """Add the weights of a tiny model that are not there yet."""
    if not lacks_weights(folder):
        return
    config = read_config(folder)
    if not (folder / WEIGHTS).exists():
        save(folder / WEIGHTS, random_weights(skeleton(config), SEED))
    layers = config.get("mtp_num_hidden_layers", 0)
    if layers and not (folder / HEAD).exists():
        save(folder / HEAD, guessing(random_weights(head(config, layers), SEED + 1)))


def skeleton(config: dict[str, Any]) -> Any:
    """The model with weights of its own making, which are replaced."""
    family = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    return family.Model(family.ModelArgs.from_dict(config))


def head(config: dict[str, Any], layers: int) -> Any:
    """The engine's own head for drafting tokens (rapid-mlx 0.9.13 and later)."""
    build = importlib.import_module("vllm_mlx.spec_decode.mtp.head").build_mtp_module
    family = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    return build(family.TextModelArgs.from_dict(config), layers)


def guessing(weights: dict[str, Any]) -> dict[str, Any]:
    """A head that mostly drafts what the model said last: some of its drafts are right, as those of a trained one."""
    import mlx.core as mx

    name = next(name for name in weights if name.endswith("fc.weight"))
    size = weights[name].shape[0]
    # Its input is the embedding of the last token, then the model's hidden state, each of the hidden size.
    copied = mx.concatenate([mx.zeros((size, size)), mx.eye(size)], axis=1)
    return weights | {name: (weights[name] + copied).astype(mx.bfloat16)}


def random_weights(model: Any, seed: int) -> dict[str, Any]:
    """Normal numbers for every matrix, ones for norms and other vectors, in bfloat16."""
    import mlx.core as mx
    from mlx.utils import tree_flatten

    mx.random.seed(seed)
    return {name: fresh(mx, name, value) for name, value in tree_flatten(model.parameters())}


def fresh(mx: Any, name: str, value: Any) -> Any:
    """A new value of the same shape; what a layer computes with in float32 keeps its own."""
    if name.endswith(("A_log", "dt_bias")):
        return value
    if value.ndim < 2:
        return mx.ones(value.shape, dtype=mx.bfloat16)
    return mx.random.normal(value.shape, scale=SCALE).astype(mx.bfloat16)


def save(path: Path, weights: dict[str, Any]) -> None:
    """Write a file of weights, whole or not at all; whoever is first with the same content is kept."""
    import mlx.core as mx

    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{os.getpid()}-{path.name}")
    mx.save_safetensors(os.fspath(draft), weights, metadata={"format": "mlx"})
    draft.replace(path)


if __name__ == "__main__":
    ensure_weights(Path(sys.argv[1]))
