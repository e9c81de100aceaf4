# SPDX-License-Identifier: Apache-2.0
"""One case through the product: its plan, engines, rounds, store, verdict and report."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from corpus.case import Case
from vllm_soak.engines.arm import ArmRunner
from vllm_soak.engines.launch import arm_settings, build_target
from vllm_soak.engines.serve.target import ServeTarget
from vllm_soak.engines.soaked import Soaked
from vllm_soak.engines.target import TargetProcess
from vllm_soak.environments.choose import choose
from vllm_soak.environments.target import Target, prepare
from vllm_soak.errors import EngineError
from vllm_soak.experiment import Experiment
from vllm_soak.plan import Plan, check_plan
from vllm_soak.report.progress import Progress
from vllm_soak.soak import Finished, report, stored_plan
from vllm_soak.store.writer import RunStore

BENCHMARKS = Path(__file__).resolve().parent.parent
HOST = "corpus.host"


def plan_of(case: Case, folder: Path) -> Plan:
    """The plan that `vllm-soak run` would make of a case's flags.

    Raises:
        UsageError: The flags contradict each other.
    """
    plan = Plan(**{"engine": case.engine, **case.flags, "run_dir": folder})
    check_plan(plan)
    return plan


def soak_case(case: Case, folder: Path, console: Console) -> tuple[Finished, float]:
    """Soak one case into a new run folder, and print its report.

    Returns:
        The run with its verdict, and the seconds that it took.

    Raises:
        SoakError: The engine could not be installed, or the folder not be written.
    """
    began = time.monotonic()
    plan = plan_of(case, folder)
    folder.mkdir(mode=0o700, parents=True)
    engine = prepare(choose(engine=plan.engine, driver=plan.driver), folder / "overlay")
    store = RunStore.create(folder, stored_plan(plan, engine.release))
    with Progress(console) as progress, store:
        store.set_status(run_rounds(case, plan, engine, store, folder, progress))
    return report(folder, console), time.monotonic() - began


def run_rounds(case: Case, plan: Plan, engine: Target, store: RunStore, folder: Path, progress: Progress) -> str:
    """Warm up and measure; how it ended: `finished` or `failed`."""
    setting = arm_settings(plan)[0]
    store.add_arm(setting.name)
    target, start = build_target(plan, engine, setting, folder, progress.note)
    prepared = with_scenario(case, target, start, folder)
    arm = ArmRunner(setting.name, plan, target, prepared, store, folder, progress.note)
    try:
        Experiment(plan, [arm], progress).run(interleaved=False)
    except EngineError as failure:
        store.add_event("", "error", str(failure))
        progress.note(str(failure))
        return "failed"
    return "finished"


def with_scenario(case: Case, target: Soaked, start: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give a target the case's environment and driver; what its `start` command is then."""
    if isinstance(target, ServeTarget):
        target.server.environment |= case.environment
        target.load = load_process(case, folder)
        return start
    assert isinstance(target, TargetProcess)
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
