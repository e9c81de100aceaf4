# SPDX-License-Identifier: Apache-2.0
"""What a report says, once: the terminal, Markdown and HTML reports only set it in type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vllm_soak.errors import ExitCode
from vllm_soak.report.advice import Advice, advise
from vllm_soak.report.evidence import blind_spots, contained, evidence, patch_lines, warnings
from vllm_soak.report.ladder import Ladder, draw_ladder
from vllm_soak.report.measure import culprits, leaks
from vllm_soak.report.number import plural, size
from vllm_soak.report.observed import process_lines, step_lines
from vllm_soak.report.outlook import outlook
from vllm_soak.report.printable import printable
from vllm_soak.report.table import Table, build_table
from vllm_soak.report.turns import build_turns
from vllm_soak.verdict.judge import LEAKS
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.process import BYTES_GREW
from vllm_soak.verdict.uncounted import Uncounted, uncounted

if TYPE_CHECKING:
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import ProcessVerdict, RunVerdict

MOST_LADDERS = 5
BY_BYTES = "LEAK, BY BYTES ALONE"
BAD, GOOD, UNSURE = "bad", "good", "unsure"
WORDS = {
    Outcome.LEAK: "LEAK",
    Outcome.LEAK_NATIVE: "NATIVE LEAK",
    Outcome.BOUNDED: "NO LEAK: BOUNDED",
    Outcome.GC_DEFERRED: "NO LEAK: FREED BY GC",
    Outcome.FRAGMENTATION: "NO LEAK: FRAGMENTATION",
    Outcome.NO_LEAK: "NO LEAK",
    Outcome.INCONCLUSIVE: "INCONCLUSIVE",
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer in two or three words, its tone, and the sentence behind it."""

    label: str
    tone: str
    reason: str


@dataclass(frozen=True, slots=True)
class Section:
    """A titled list of short sentences."""

    title: str
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report, in the order in which it is read."""

    headline: Headline
    subject: list[tuple[str, str]]
    ladders: list[Ladder]
    table: Table
    sections: list[Section]
    advice: list[Advice]
    warnings: list[str] = field(default_factory=list)
    turns: Table = field(default_factory=lambda: Table([]))


def compose(run: RunData, verdict: RunVerdict, width: int | None = None) -> Document:
    """Say what a run found; `width` is the number of columns that ladders have to fit."""
    return Document(
        headline=headline(run, verdict),
        subject=subject(run),
        ladders=ladders(verdict, width),
        table=build_table(run, verdict),
        sections=[one for one in sections(run, verdict) if one.lines],
        advice=advise(run, verdict),
        warnings=warnings(run),
        turns=build_turns(run),
    )


def headline(run: RunData, verdict: RunVerdict) -> Headline:
    """The answer for the run; a leak that the patched arm does not have is good news."""
    reason = printable(verdict.reason)
    if verdict.exit_code == ExitCode.ENGINE_FAILED or run.status == "failed":
        return Headline("ENGINE FAILED", BAD, reason)
    if verdict.exit_code == ExitCode.CLEAN and culprits(verdict):
        return Headline("LEAK FOUND, AND FIXED BY THE PATCH", GOOD, reason)
    if verdict.outcome == Outcome.INCONCLUSIVE:
        return Headline(WORDS[verdict.outcome], UNSURE, reason)
    label = BY_BYTES if is_by_bytes(verdict) else WORDS[verdict.outcome]
    return Headline(label, BAD if verdict.outcome in LEAKS else GOOD, reason)


def is_by_bytes(verdict: RunVerdict) -> bool:
    """Whether a leak was told by bytes alone, since no census was taken."""
    processes = [one for arm in verdict.arms for one in arm.processes]
    rules = {one.rule for one in processes if one.outcome == Outcome.LEAK_NATIVE}
    return verdict.outcome == Outcome.LEAK_NATIVE and rules == {BYTES_GREW}


def subject(run: RunData) -> list[tuple[str, str]]:
    """What was soaked: engine, model, driver and load, as far as they are known."""
    engine = next((arm.engine for arm in run.arms if arm.engine), {})
    plan = run.plan
    name = " ".join(str(one) for one in (engine.get("name"), engine.get("version")) if one)
    load = f"{plan['workload']}, {plan.get('random_input_len', '?')} tokens a prompt" if "workload" in plan else ""
    facts = [
        ("engine", name or plan.get("release") or plan.get("engine") or plan.get("python") or ""),
        ("model", plan.get("model") or engine.get("model") or ""),
        ("driver", engine.get("driver") or plan.get("driver") or ""),
        ("load", load),
        ("python", f"Python {engine['python']}" if engine.get("python") else ""),
        ("started", run.started),
        ("status", standing(run)),
    ]
    return [(name, printable(value, 300)) for name, value in facts if value]


def standing(run: RunData) -> str:
    """How the run stands: a `running` one whose controller is gone was cut short."""
    return "cut short" if run.status == "running" and not run.live else run.status


def ladders(verdict: RunVerdict, width: int | None) -> list[Ladder]:
    """The leaking containers of every process, the largest first."""
    return [
        draw_ladder(arm.arm, process, suspect, width)
        for arm in verdict.arms
        for process in arm.processes
        for suspect in leaks(process)[:MOST_LADDERS]
    ]


def sections(run: RunData, verdict: RunVerdict) -> list[Section]:
    """The lists of a report, in order."""
    return [
        Section("Also found", [*cut_ladders(verdict), *unnamed(verdict), *past_the_count(run, verdict)]),
        Section("Forecast", outlook(run, verdict)),
        Section("Steps and captures", step_lines(run)),
        Section("Processes that died or restarted", process_lines(run)),
        Section("Grew, but is not a leak", contained(verdict)),
        Section("Patches", patch_lines(run)),
        Section("What this rests on", evidence(run, verdict)),
        Section("What this cannot see", blind_spots(run, verdict)),
    ]


def cut_ladders(verdict: RunVerdict) -> list[str]:
    """How many leaking containers are in report.json only."""
    hidden = [
        (process.process, len(leaks(process)) - MOST_LADDERS) for arm in verdict.arms for process in arm.processes
    ]
    return [
        f"{plural(more, 'further leaking container')} of {printable(name)} in report.json"
        for name, more in hidden
        if more > 0
    ]


def unnamed(verdict: RunVerdict) -> list[str]:
    """Processes whose answer has no container to show: native leaks, fragmentation, garbage."""
    quiet = {Outcome.LEAK, Outcome.NO_LEAK, Outcome.INCONCLUSIVE, Outcome.BOUNDED}
    found = [(arm.arm, one) for arm in verdict.arms for one in arm.processes if one.outcome not in quiet]
    return [unnamed_text(arm, one) for arm, one in found]


def unnamed_text(arm: str, process: ProcessVerdict) -> str:
    """One such process, with its reason."""
    who = printable(f"{process.process} (pid {process.pid}, {arm})")
    words = BY_BYTES if process.rule == BYTES_GREW else WORDS[process.outcome]
    return f"{words.lower()}: {who}: {printable(process.reason)}"


def past_the_count(run: RunData, verdict: RunVerdict) -> list[str]:
    """Processes whose prefix cache counts less than stays in use; not where a leak, or what is open, may hold it."""
    return [
        past_the_count_text(f"{process.process} (pid {process.pid}, {arm.name})", found)
        for arm in run.arms
        for judged in verdict.arms
        if judged.arm == arm.name
        for process in judged.processes
        if process.outcome not in {*LEAKS, Outcome.INCONCLUSIVE}
        and (found := uncounted(arm, process.process)) is not None
    ]


def past_the_count_text(who: str, found: Uncounted) -> str:
    """One such process."""
    return (
        f"prefix cache of {printable(who)}: it counts {size(found.counted)}, and {size(found.held)} more than before "
        "the load stay in use at rest, which its limit does not see: an entry that is a view of a larger buffer keeps "
        "all of it, or something else holds the rest (VLLM_SOAK_DEBUG_ARRAYS=1 tells what, docs/mlx.md)"
    )
