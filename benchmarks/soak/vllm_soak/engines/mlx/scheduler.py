# SPDX-License-Identifier: Apache-2.0
"""The engine's own scheduler around a model folder, whatever the release calls its settings."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vllm_soak.engines.mlx.weights import HEAD, ensure_weights

PACKAGE = "vllm_mlx"


def module(name: str) -> Any:
    """A module of the engine."""
    return importlib.import_module(f"{PACKAGE}.{name}")


def make_scheduler(folder: Path, engine_args: Mapping[str, Any]) -> Any:
    """Load a model and put the engine's scheduler around it, with its MTP head where it has one.

    Args:
        folder: Model folder; a tiny one gets its weights here.
        engine_args: Fields of the engine's `SchedulerConfig`.

    Raises:
        ValueError: The release has no such setting.
    """
    import mlx_lm

    if folder.is_dir():
        ensure_weights(folder)
    model, tokenizer = mlx_lm.load(str(folder))[:2]
    config = settings(folder, engine_args)
    if getattr(config, "spec_decode", "none") == "mtp":
        attach_head(model, folder)
    scheduler = module("scheduler").Scheduler(model, tokenizer, config)
    scheduler._model_name = folder.name  # noqa: SLF001 - what the engine does with it after construction
    return scheduler


def settings(folder: Path, engine_args: Mapping[str, Any]) -> Any:
    """The engine's `SchedulerConfig`; speculative decoding is on where the model has a head for it.

    Raises:
        ValueError: The release has no such setting.
    """
    kind = module("scheduler").SchedulerConfig
    known = {field.name for field in dataclasses.fields(kind)}
    if wrong := sorted(set(engine_args) - known):
        raise ValueError(f"this release's SchedulerConfig has no {', '.join(wrong)}: it has {', '.join(sorted(known))}")
    speculative = {"spec_decode": "mtp", "mtp_model_type": model_type(folder)} if (folder / HEAD).exists() else {}
    return kind(**{name: value for name, value in speculative.items() if name in known} | dict(engine_args))


def model_type(folder: Path) -> str:
    """The family of the model in a folder."""
    return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"])


def attach_head(model: Any, folder: Path) -> None:
    """Give a loaded model its head for drafting tokens, as the engine does before it makes the scheduler.

    Raises:
        RuntimeError: The engine refused; it logged why.
    """
    inject = module("spec_decode.mtp.dispatch").dispatch_mtp_inject
    if not inject(model, model_type(folder), mtp_sidecar=str(folder / HEAD)):
        raise RuntimeError("the engine did not attach the model's MTP head: see its log")


def prefix_cache(scheduler: Any) -> Any:
    """The prefix cache in use, or None: releases keep each kind under a name of its own."""
    for name in ("prefix_cache", "memory_aware_cache", "block_aware_cache"):
        if (found := getattr(scheduler, name, None)) is not None:
            return found
    return None
