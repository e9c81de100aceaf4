# SPDX-License-Identifier: Apache-2.0
"""What a verdict rests on, and what it could not see, in short sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.report.measure import measured_rounds, warm_up_requests, watched
from vllm_soak.report.number import count, duration, known, plural, size
from vllm_soak.report.printable import printable
from vllm_soak.verdict.judge import one_after_the_other

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, Event, RunData
    from vllm_soak.verdict.outcome import Cycle, ProcessVerdict, Ratio, RunVerdict, Slope, Suspect


FREQUENT = 0.1
NO_RATIO = (
    "throughput of the arms is not compared: the servers ran one after the other, and the machine's speed drifts "
    "by more than a patch costs (--ab-order interleaved has them take turns)"
)
NOT_FOUND = "--watch {path} was not found: give the path as a report shows it, from the root of its process"


def contained(verdict: RunVerdict) -> list[str]:
    """Containers that grew and were found harmless, or undecided, each with its reason."""
    found: dict[tuple[str, str, str], str] = {}
    for arm in verdict.arms:
        for process in arm.processes:
            for one in process.suspects:
                if not one.outcome.value.startswith("leak"):
                    found.setdefault((one.process, one.path, one.outcome.value), contained_text(one))
    return list(found.values())


def contained_text(one: Suspect) -> str:
    """One harmless container: outcome, path, length, bound, reason."""
    bound = f" of at most {count(one.bound)}" if one.bound is not None else ""
    length = f"{count(one.length_last)}{bound} items"
    return (
        f"{one.outcome.value} by rule {printable(one.rule)}: {length}; {printable(one.reason)}: {printable(one.path)}"
    )


def evidence(run: RunData, verdict: RunVerdict) -> list[str]:
    """What each arm and process was judged by."""
    lines = [work(arm) for arm in run.arms if arm.rounds]
    several = len(verdict.arms) > 1
    for arm in verdict.arms:
        for process in arm.processes:
            name = printable(f"{arm.arm} {process.process}" if several else process.process)
            lines += [f"{name}: {text}" for text in grounds(process)]
    lines += [ratio_text(verdict.throughput)] if verdict.throughput else []
    lines += [NO_RATIO] if len(run.arms) > 1 and one_after_the_other(run) else []
    return [*lines, *census_text(run)]


def ratio_text(ratio: Ratio) -> str:
    """The comparison of throughput, with its interval."""
    interval = f"95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    pairs = plural(ratio.pairs, "pair")
    return f"throughput, patched over unpatched: median {ratio.median:.3f} ({interval}, {pairs} of blocks)"


def census_text(run: RunData) -> list[str]:
    """How much of the heap was seen, and what that cost."""
    walked = [one for arm in run.arms for one in arm.censuses]
    if not walked:
        return []
    slowest = max(walked, key=lambda one: one.seconds)
    most = count(max(one.objects for one in walked))
    cost = f"{duration(slowest.seconds)} at most ({printable(slowest.walker)} walker)"
    return [f"{plural(len(walked), 'walk')} of the heap: up to {most} objects, {cost}"]


def work(arm: Arm) -> str:
    """How much work an arm did, in rounds of identical work."""
    rounds, warm = measured_rounds(arm), warm_up_requests(arm)
    sizes = sorted({one.requests for one in rounds})
    each = f" of {count(sizes[0])}" if len(sizes) == 1 else ""
    return (
        f"{printable(arm.name)}: {plural(len(rounds), 'measured round')}{each} after {count(warm)} requests of warm-up"
    )


def grounds(process: ProcessVerdict) -> list[str]:
    """Rule, slope with its interval, and the smallest leak that would have been seen."""
    lines = [f"{process.outcome.value} by rule {printable(process.rule)}: {printable(process.reason)}"]
    seen = [f"bytes in use {slope_text(process.slope)}"] if process.slope else []
    if (least := detectable_text(process)) and "would have shown" not in process.reason:
        seen.append(f"the smallest leak that this run would have seen: {least} per 1,000 requests")
    freed = [f"freed by collections only: {cycle_text(one)}" for one in process.cycles if is_frequent(one)]
    return [*lines, "; ".join(seen), *freed] if seen else [*lines, *freed]


def is_frequent(cycle: Cycle) -> bool:
    """Whether a ring is left behind by one request in ten or more, so that it is the engine's work that leaves it."""
    return cycle.per_request >= FREQUENT


def cycle_text(cycle: Cycle) -> str:
    """A ring of objects, and how often it was found."""
    return f"{printable(cycle.ring)}, {cycle.per_request:,.3g} a request"


def detectable_text(process: ProcessVerdict) -> str:
    """The smallest leak of each kind of bytes that was measured, or an empty string."""
    kinds = (("resident", process.detectable), ("allocated", process.detectable_allocated))
    return " or ".join(f"{size(least)} {kind}" for kind, least in kinds if least is not None and known(least))


def slope_text(slope: Slope) -> str:
    """A slope in bytes per 1,000 requests, with its 95 % interval."""
    ends = f"{size(slope.low, signed=True)} to {size(slope.high, signed=True)}"
    middle = size(slope.per_thousand, signed=True)
    return f"{middle} per 1,000 requests (95 % interval {ends}, {plural(slope.points, 'point')})"


def blind_spots(run: RunData, verdict: RunVerdict) -> list[str]:
    """What the run could not see, each said once."""
    said = [one for arm in verdict.arms for process in arm.processes for one in process.blind_spots]
    partial = [
        f"heap census of {one.process}: {one.partial}" for arm in run.arms for one in arm.censuses if one.partial
    ]
    return list(dict.fromkeys(printable(one) for one in [*said, *partial]))


def warnings(run: RunData) -> list[str]:
    """What went wrong on the way: failures of arms, and events above information."""
    failed = [f"{arm.name}: {arm.failure}" for arm in run.arms if arm.failure]
    told = [f"{one.arm}: {one.text}" if one.arm else one.text for one in run.events if worth_telling(one, failed)]
    states = {"running": "is still at work" if run.live else "was cut short", "interrupted": "was interrupted"}
    cut = [f"the run {states[run.status]}; this report rests on what was stored"] if run.status in states else []
    return list(dict.fromkeys(printable(one) for one in [*cut, *failed, *lost_paths(run), *told]))


def lost_paths(run: RunData) -> list[str]:
    """Watched paths that no sample of any arm ever found."""
    found = {path for arm in run.arms for one in arm.samples for path in one.lengths}
    sampled = any(arm.samples for arm in run.arms)
    return [NOT_FOUND.format(path=path) for path in watched(run) if sampled and path not in found]


def worth_telling(event: Event, failed: list[str]) -> bool:
    """Whether an event is a warning or an error that no arm's failure says already."""
    text = event.text.rstrip(".")
    return event.level not in {"info", "debug"} and not any(text in one for one in failed)


def patch_lines(run: RunData) -> list[str]:
    """Each patch's status, one line for every arm, patch and status."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for arm in run.arms:
        for one in arm.patches:
            found.setdefault((arm.name, one.name, one.status, one.reason), []).append(one.process)
    return [
        printable(f"{arm}: {name} {status} in {', '.join(dict.fromkeys(where))}" + (f" ({reason})" if reason else ""))
        for (arm, name, status, reason), where in found.items()
    ]
