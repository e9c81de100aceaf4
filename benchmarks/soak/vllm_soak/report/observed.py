# SPDX-License-Identifier: Apache-2.0
"""What was observed from outside, in short sentences: steps, captures, and what became of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.report.number import duration
from vllm_soak.report.printable import printable

if TYPE_CHECKING:
    from vllm_soak.store.outside import Capture, LevelStep, ProcessEvent
    from vllm_soak.store.record import Arm, RunData

NAMES = {
    "latency_p50": "median latency",
    "latency_p99": "99th percentile of latency",
    "latency_mean": "mean latency",
    "throughput": "throughput",
    "cpu_per_request": "processor time a request",
}
MOST_EVENTS = 20
TOLD = frozenset({"died", "restarted"})
MOST_NOTES = 4


def step_lines(run: RunData) -> list[str]:
    """Every step with its capture beside it, then the captures that belong to none."""
    several = len(run.arms) > 1
    return [(f"{printable(arm.name, 30)}: " if several else "") + line for arm in run.arms for line in of_arm(arm)]


def of_arm(arm: Arm) -> list[str]:
    """The steps and captures of one arm."""
    by_moment = {one.elapsed: one for one in arm.captures}
    lines = []
    for number, step in enumerate(arm.level_steps, 1):
        lines.append(step_text(number, step))
        taken = by_moment.pop(step.seen, None)
        lines.append(capture_text(taken) if taken else f"no capture was taken of step {number}")
    return [*lines, *(capture_text(one) for one in by_moment.values())]


def step_text(number: int, step: LevelStep) -> str:
    """One step: when, and what went from which level to which."""
    changes = "; ".join(
        f"{NAMES.get(name, printable(name, 40))} {level(name, before)} → {level(name, after)}{share(before, after)}"
        for name, (before, after) in step.changes.items()
    )
    late = duration(step.seen - step.elapsed)
    _, bracket, around = step.reason.partition(" (")
    told = f"; {printable(around.removesuffix(')'), 300)}" if bracket else ""
    name = f"step {number}, not the server's," if step.contention else f"step {number}"
    when = f"{name} at {duration(step.elapsed)} ({step.requests:,} requests)"
    return f"{when}: {changes}{told}; seen {late} later"


def share(before: float, after: float) -> str:
    """The change in per cent."""
    return f" ({(after / before - 1) * 100:+.0f} %)" if before else ""


def level(name: str, value: float) -> str:
    """A level in its unit."""
    return f"{value:,.4g} requests/s" if name == "throughput" else f"{value * 1000:,.4g} ms"


def capture_text(one: Capture) -> str:
    """Where a capture lies, what is in it, and what could not be had."""
    kinds = ", ".join(dict.fromkeys(name.split("-")[0].split(".")[0] for name in one.files)) or "nothing"
    notes = "; ".join(printable(note, 200) for note in one.notes[:MOST_NOTES])
    text = f"capture ({printable(one.reason, 80)}) in {printable(one.folder)}/: {kinds}"
    return f"{text}; {notes}" if notes else text


def process_lines(run: RunData) -> list[str]:
    """Processes that died or restarted while the run observed them."""
    several = len(run.arms) > 1
    found = [(arm.name, one) for arm in run.arms for one in arm.process_events if one.kind in TOLD]
    lines = [(f"{printable(name, 30)}: " if several else "") + event_text(one) for name, one in found[:MOST_EVENTS]]
    more = len(found) - MOST_EVENTS
    return [*lines, f"{more} more in run.sqlite"] if more > 0 else lines


def event_text(one: ProcessEvent) -> str:
    """One event: when, who, what."""
    detail = f" ({printable(one.detail, 80)})" if one.detail else ""
    return f"at {duration(one.elapsed)} {printable(one.process, 40)} (pid {one.pid}) {one.kind}{detail}"
