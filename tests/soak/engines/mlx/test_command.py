# SPDX-License-Identifier: Apache-2.0
"""Command lines of servers on mlx."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_soak.engines.mlx.command import server_words, without_model
from vllm_soak.engines.models.build import build
from vllm_soak.environments.releases import Release

RAPID, OTHER = Release("rapid-mlx", "0.12.18"), Release("vllm-mlx", "0.4.1")


def test_a_users_model_keeps_the_engines_own_choices_and_his_words_stand_last() -> None:
    words = server_words("org/model", {"max_num_seqs": 4}, ["org/model", "--port", "81"], RAPID, 80)
    assert words[:6] == ["serve", "org/model", "--host", "127.0.0.1", "--port", "80"]
    assert words[6:] == ["--log-level", "WARNING", "--max-num-seqs", "4", "--port", "81"]


def test_settings_become_the_flags_that_switch_them_off() -> None:
    settings = {"enable_prefix_cache": False, "use_memory_aware_cache": False, "cache_memory_mb": 4}
    words = server_words("org/model", settings, [], OTHER, 80)
    assert words[6:] == [
        "--continuous-batching",
        "--disable-prefix-cache",
        "--no-memory-aware-cache",
        "--cache-memory-mb",
        "4",
    ]
    assert "--enable-prefix-cache" not in server_words("org/model", {"enable_prefix_cache": True}, [], OTHER, 80)


def test_a_tiny_model_with_a_head_drafts_tokens(tmp_path: Path) -> None:
    folder = build("qwen3_5-mtp", tmp_path)
    head = str(folder / "mtp" / "weights.safetensors")
    words = server_words(str(folder), {}, [], RAPID, 80)
    assert json.loads(words[words.index("--speculative-config") + 1]) == {"method": "mtp", "model": head}
    old = server_words(str(folder), {}, [], Release("rapid-mlx", "0.9.13"), 80)
    assert old[old.index("--spec-decode") :][:4] == ["--spec-decode", "mtp", "--mtp-sidecar", head]


def test_a_tiny_model_without_one_does_not(tmp_path: Path) -> None:
    words = server_words(str(build("qwen3_5", tmp_path)), {}, [], RAPID, 80)
    assert "--speculative-config" not in words
    assert "--no-reasoning-parser" in words


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), []),
        (("serve", "org/model", "--reasoning"), ["--reasoning"]),
        (("org/model", "--reasoning"), ["--reasoning"]),
        (("--reasoning", "--port", "1"), ["--reasoning", "--port", "1"]),
    ],
)
def test_the_model_of_a_users_words_is_named_once(given: tuple[str, ...], expected: list[str]) -> None:
    assert without_model(given) == expected
