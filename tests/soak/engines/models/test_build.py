# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from vllm_soak.engines.models.build import KINDS, build, resolve
from vllm_soak.errors import UsageError


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", KINDS)
def test_two_builds_are_byte_identical(kind: str, tmp_path: Path) -> None:
    first, second = build(kind, tmp_path / "a"), build(kind, tmp_path / "b")
    assert first.name == second.name
    assert files(first) == files(second)
    assert set(files(first)) == {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}


def test_a_built_model_is_used_again(tmp_path: Path) -> None:
    first = build("tiny:llama", tmp_path)
    stamp = (first / "config.json").stat().st_mtime_ns
    assert build("llama", tmp_path) == first
    assert (first / "config.json").stat().st_mtime_ns == stamp


def test_a_damaged_model_is_built_again(tmp_path: Path) -> None:
    folder = build("llama", tmp_path)
    whole = files(folder)
    (folder / "tokenizer.json").write_text("{")
    (folder / "config.json").unlink()
    assert files(build("llama", tmp_path)) == whole


def test_builders_that_race_leave_one_whole_model(tmp_path: Path) -> None:
    built: list[Path] = []
    threads = [threading.Thread(target=lambda: built.append(build("lfm2", tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 8
    assert [path.name for path in tmp_path.iterdir()] == [built[0].name]
    assert len(files(built[0])) == 4


def test_kinds_have_the_layers_they_are_for(tmp_path: Path) -> None:
    configs = {kind: json.loads((build(kind, tmp_path) / "config.json").read_text()) for kind in KINDS}
    assert "layer_types" not in configs["llama"]
    assert configs["gemma3"]["layer_types"].count("sliding_attention") == 5
    assert configs["lfm2"]["layer_types"] == ["conv"] * 3 + ["full_attention"]
    assert {config["vocab_size"] for config in configs.values()} == {512}


def test_other_models_pass_through(tmp_path: Path) -> None:
    assert resolve("org/model", tmp_path) == "org/model"
    assert Path(resolve("tiny:gemma3", tmp_path)).is_dir()


def test_an_unknown_tiny_model_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tiny:gpt.*tiny:llama, tiny:gemma3, tiny:lfm2"):
        resolve("tiny:gpt", tmp_path)
