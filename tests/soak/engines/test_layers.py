# SPDX-License-Identifier: Apache-2.0
"""Reading a model's layers; the specs made from them are checked on real engines in test_core."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_soak.engines.layers import head_size, layer_kinds, read_config


def test_layers_without_types_have_full_attention() -> None:
    assert layer_kinds({"num_hidden_layers": 3}) == ["full_attention"] * 3


def test_state_layers_of_all_families_are_one_kind() -> None:
    kinds = layer_kinds({"layer_types": ["conv", "linear_attention", "sliding_attention", "full_attention"]})
    assert kinds == ["mamba", "mamba", "sliding_attention", "full_attention"]


def test_the_text_part_of_a_multimodal_config_counts(tmp_path: Path) -> None:
    whole = {"architectures": ["X"], "text_config": {"num_hidden_layers": 7}, "num_hidden_layers": 1}
    (tmp_path / "config.json").write_text(json.dumps(whole))
    config = read_config(str(tmp_path))
    assert config["num_hidden_layers"] == 7
    assert config["architectures"] == ["X"]


def test_a_folder_without_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        read_config(str(tmp_path))


def test_the_head_size_is_stated_or_derived() -> None:
    assert head_size({"head_dim": 128, "hidden_size": 64, "num_attention_heads": 2}) == 128
    assert head_size({"hidden_size": 64, "num_attention_heads": 2}) == 32
