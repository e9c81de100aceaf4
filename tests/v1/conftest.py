# SPDX-License-Identifier: Apache-2.0
"""The release under test, a model for it, and what this package logs.

These tests need real vLLM classes: they run inside engine environments, see test_v1_in_engines.py.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from vllm_soak.engines import vllm_compat
from vllm_soak.patching.engine import installed_release, is_importable
from vllm_soak.patching.registry import NEW_BLOCK_IDS
from vllm_soak.patching.release import Release, contains
from vllm_soak.patching.status import LOGGER

# The folder vllm/ of this repository makes a namespace package, which is not vLLM.
collect_ignore_glob = [] if is_importable("vllm") else ["*"]

LONGEST = 256  # tokens, of the schedulers in core/conftest.py too
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "max_position_embeddings": LONGEST,
}


@pytest.fixture(scope="session")
def version() -> str:
    found = installed_release("vllm")
    assert found is not None
    return found


@pytest.fixture(scope="session")
def is_affected(version: str) -> bool:
    return contains(NEW_BLOCK_IDS.affected, Release.parse(version))


@pytest.fixture
def affected(is_affected: bool) -> None:
    if not is_affected:
        pytest.skip("this release does not have the defect")


@pytest.fixture
def own_log() -> Iterator[list[str]]:
    """What this package logs; vLLM's logger does not propagate, so pytest's own capture misses it."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    LOGGER.addHandler(handler)
    yield lines
    LOGGER.removeHandler(handler)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    vllm_compat.register_shell(CONFIG["architectures"])
    return str(folder)
