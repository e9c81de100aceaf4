# SPDX-License-Identifier: Apache-2.0
"""One case through the product: `vllm-soak run`, but for the engine's load where a case has one of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

from corpus.case import Case
from vllm_soak import soak
from vllm_soak.engines.launch import build_target
from vllm_soak.engines.serve.target import ServeTarget
from vllm_soak.engines.soaked import Soaked
from vllm_soak.engines.target import TargetProcess
from vllm_soak.plan import Plan

BENCHMARKS = Path(__file__).resolve().parent.parent
HOST = "corpus.host"

Built = tuple[Soaked, dict[str, Any]]


def soak_case(case: Case, folder: Path, console: Console) -> soak.Finished:
    """Soak one case into a run folder, and print its report.

    Raises:
        SoakError: The case's flags contradict each other, its engine could not be installed, or the folder not be
            written; how the engine failed is in the run instead.
    """
    plan = Plan(**{"engine": case.engine, **case.flags, "run_dir": folder})
    with patch.object(soak, "build_target", built_for(case)):
        return soak.soak(plan, console)


def built_for(case: Case) -> Callable[..., Built]:
    """What builds a run's target, with the case's environment and driver."""

    def build(plan: Plan, engine: Any, setting: Any, folder: Path, *more: Any) -> Built:
        target, start = build_target(plan, engine, setting, folder, *more)
        return target, with_scenario(case, target, start, folder)

    return build


def with_scenario(case: Case, target: Soaked, start: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give a target the case's environment and driver; what its `start` command is then."""
    if isinstance(target, ServeTarget):
        target.server.environment |= case.environment
        target.load = load_process(case, folder) if case.scenario else target.load
        return start
    assert isinstance(target, TargetProcess), "a plan without a server has one process"
    target.environment |= case.environment
    if not case.scenario:
        return start
    target.module = HOST
    target.environment |= {"PYTHONPATH": python_path(target.environment)}
    return {**start, "driver": case.scenario}


def load_process(case: Case, folder: Path) -> TargetProcess:
    """The load of a server: a scenario of this package, in the controller's interpreter."""
    return TargetProcess(
        python=Path(sys.executable),
        log=folder / "load.log",
        probe_folder=folder,
        environment={**os.environ, "PYTHONPATH": python_path(dict(os.environ))},
        module=f"corpus.{case.scenario}",
        who="the load process",
    )


def python_path(environment: dict[str, str]) -> str:
    """`PYTHONPATH` with this package on it."""
    return os.pathsep.join(filter(None, [str(BENCHMARKS), environment.get("PYTHONPATH")]))
