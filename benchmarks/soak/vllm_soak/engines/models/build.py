# SPDX-License-Identifier: Apache-2.0
"""Writes a tiny model's folder: config, tokenizer, chat template; weights are made up by the engine.

vLLM makes weights up (`load_format="dummy"`) from the engine's seed, so a folder is a few kilobytes of text
and byte-identical wherever it is built. Engines on mlx read weights from files: `engines/mlx/weights.py`
adds them in the engine's process.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from vllm_soak.engines.models import gemma3, lfm2, llama, qwen3_5, tokenizer
from vllm_soak.errors import UsageError

KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "llama": llama.config,
    "gemma3": gemma3.config,
    "lfm2": lfm2.config,
    "qwen3_5": qwen3_5.config,
    "qwen3_5-mtp": partial(qwen3_5.config, mtp_layers=1),
    "qwen3_5-mtp-long": partial(qwen3_5.config, mtp_layers=1, layers=2, heads=1),
}
PREFIX = "tiny:"
# Kernels of these families exist in half precision only, on a CPU too.
HALF_PRECISION = ("gemma3", "lfm2")
MAX_LEN = 2048


def contents(kind: str) -> dict[str, bytes]:
    """The files of a tiny model by name.

    Raises:
        UsageError: Unknown kind.
    """
    if kind not in KINDS:
        known = ", ".join(PREFIX + name for name in KINDS)
        raise UsageError(f"there is no tiny model named {PREFIX}{kind}", f"use one of {known}, or a model folder or id")
    files: dict[str, dict[str, Any]] = {
        "config.json": KINDS[kind](MAX_LEN),
        "generation_config.json": tokenizer.token_ids(),
        "tokenizer.json": tokenizer.tokenizer_json(),
        "tokenizer_config.json": tokenizer.tokenizer_config(MAX_LEN),
    }
    return {name: json.dumps(content, indent=1).encode() + b"\n" for name, content in files.items()}


def digest(files: dict[str, bytes]) -> str:
    """Twelve hex digits over names and contents."""
    total = hashlib.sha256()
    for name, content in sorted(files.items()):
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:12]


def build(kind: str, folder: Path) -> Path:
    """Build a tiny model below `folder`, or find it there; return its own folder.

    The name carries the content's digest, and the folder appears whole or not at all.

    Args:
        kind: A key of `KINDS`, with or without `tiny:` before it.
        folder: Where models are cached.

    Raises:
        UsageError: Unknown kind.
    """
    kind = kind.removeprefix(PREFIX)
    files = contents(kind)
    final = folder / f"tiny-{kind}-{digest(files)}"
    if whole(final, files):
        return final
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".tiny-", dir=folder))
    for name, content in files.items():
        (draft / name).write_bytes(content)
    draft.chmod(0o755)  # mkdtemp's folder is private; a model is not
    return publish(draft, final, files)


def whole(folder: Path, files: dict[str, bytes]) -> bool:
    """Whether a folder holds exactly these files' contents."""
    return all((folder / name).is_file() and (folder / name).read_bytes() == content for name, content in files.items())


def moved(draft: Path, final: Path) -> bool:
    """Move a folder; False when a folder with content stands there already."""
    try:
        draft.replace(final)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def publish(draft: Path, final: Path, files: dict[str, bytes]) -> Path:
    """Move a finished draft to its place; a damaged folder there is replaced, a whole one kept.

    Another process may publish the same content meanwhile: whichever is first is kept.
    """
    while not moved(draft, final):
        if whole(final, files):
            shutil.rmtree(draft, ignore_errors=True)
            break
        shutil.rmtree(final, ignore_errors=True)
    return final


def check_model(model: str) -> None:
    """Refuse a `tiny:` name that is not one of ours; what else an engine takes is for the engine to say.

    Raises:
        UsageError: Unknown tiny model.
    """
    if model.startswith(PREFIX):
        contents(model.removeprefix(PREFIX))


def resolve(model: str, folder: Path) -> str:
    """What to give the engine for `--model`: a built folder for `tiny:` names, anything else as it is.

    Raises:
        UsageError: Unknown tiny model.
    """
    if not model.startswith(PREFIX):
        return model
    return str(build(model, folder))
