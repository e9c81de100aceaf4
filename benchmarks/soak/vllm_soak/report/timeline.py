# SPDX-License-Identifier: Apache-2.0
"""Pictures over time of what was observed from outside: latency with its steps, processor time, memory, the server.

A step and a restart are moments, so the axis of these is time, unlike that of every other picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from vllm_soak.report.number import STEP, UNITS, duration, size, unit_of
from vllm_soak.report.plots import COLOURS, GRID, INCHES, INK, LABEL_GAP, LOWEST_LABEL, SOFT, STYLE
from vllm_soak.report.printable import printable
from vllm_soak.steps.series import CPU_PER_REQUEST, LATENCY_MEAN, LATENCY_P50, LATENCY_P99
from vllm_soak.store.outside import CLIENT, HOST, SERVER, TREE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vllm_soak.store.record import Arm, RunData

# A picture has some hundred columns: more points than this are drawn as medians of neighbours.
MOST_POINTS = 600
MOST_PROCESSES = 4
# A gap of as many times the usual distance breaks the line: a pause of the load is no straight line.
GAP = 8.0
SECONDS = ((3600.0 * 5, 3600.0, "h"), (300.0, 60.0, "min"), (0.0, 1.0, "s"))


@dataclass(frozen=True, slots=True)
class Line:
    """One curve over seconds."""

    label: str
    times: list[float]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Timeline:
    """One picture over time, before it is drawn.

    Args:
        name: File name without ending.
        title: What is shown, with its unit.
        caption: A sentence for readers who cannot see it.
        lines: Curves.
        scale: Divisor from the curves' values to the axis' unit.
        marks: Moments to mark, in seconds, each with a word.
    """

    name: str
    title: str
    caption: str
    lines: list[Line]
    scale: float = 1.0
    marks: list[tuple[float, str]] = field(default_factory=list)


def plan_timelines(run: RunData) -> list[Timeline]:
    """The pictures that the run has points for, arm by arm."""
    several = len(run.arms) > 1
    plans: tuple[Callable[[Arm], Timeline], ...] = (latency, processor_time, memory, server)
    found = [named(plan(arm), arm) if several else plan(arm) for arm in run.arms for plan in plans]
    return [one for one in found if any(len(line.values) > 1 for line in one.lines)]


def named(one: Timeline, arm: Arm) -> Timeline:
    """The same picture with the arm's name, where there are several."""
    name = printable(arm.name, 30)
    return Timeline(
        f"{one.name}-{arm.name}", f"{one.title}, {name}", f"{name}: {one.caption}", one.lines, one.scale, one.marks
    )


def latency(arm: Arm) -> Timeline:
    """Latency over time with the steps."""
    lines = [
        line_of(arm, CLIENT, series, label)
        for series, label in ((LATENCY_P50, "p50"), (LATENCY_P99, "p99"), (LATENCY_MEAN, "mean"))
    ]
    lines = [one for one in lines if one.values]
    most = max((value for one in lines for value in one.values), default=0.0)
    scale, unit = (1.0, "s") if most >= 1 else (0.001, "ms")
    caption = f"Request latency over time: {ends(lines, lambda value: f'{value / scale:.3g} {unit}')}{told(arm)}."
    return Timeline("timeline-latency", f"Request latency over time [{unit}]", caption, lines, scale, steps(arm))


def processor_time(arm: Arm) -> Timeline:
    """Processor time a request over time with the steps."""
    line = line_of(arm, CLIENT, CPU_PER_REQUEST, "CPU a request")
    caption = f"Processor time a request over time: {ends([line], lambda value: f'{value * 1000:.3g} ms')}{told(arm)}."
    return Timeline("timeline-cpu", "Processor time a request over time [ms]", caption, [line], 0.001, steps(arm))


def memory(arm: Arm) -> Timeline:
    """Bytes in use of each process over time, with the moments at which processes died or restarted."""
    names = [
        name for name in dict.fromkeys(point.process for point in arm.points) if name not in {HOST, SERVER, CLIENT}
    ]
    lines = [line_of(arm, name, "in_use", "all processes" if name == TREE else printable(name, 24)) for name in names]
    lines = sorted((one for one in lines if one.values), key=lambda one: -one.values[-1])[: MOST_PROCESSES + 1]
    index = unit_of(max((value for one in lines for value in one.values), default=0.0))
    marks = [(one.elapsed, one.kind) for one in arm.process_events if one.kind in {"died", "restarted"}]
    caption = f"Bytes in use over time: {ends(lines, size)}."
    return Timeline("timeline-memory", f"Bytes in use over time [{UNITS[index]}]", caption, lines, STEP**index, marks)


def server(arm: Arm) -> Timeline:
    """The server's own counts of requests over time."""
    lines = [line_of(arm, SERVER, name, name) for name in ("running", "waiting")]
    lines = [one for one in lines if one.values]
    caption = f"Requests in the server over time, by its own metrics: {ends(lines, lambda value: f'{value:,.0f}')}."
    return Timeline("timeline-requests", "Requests in the server over time", caption, lines)


def line_of(arm: Arm, process: str, series: str, label: str) -> Line:
    """One series of an arm, thinned to what can be drawn."""
    points = [(p.elapsed, p.values[series]) for p in arm.points if p.process == process and series in p.values]
    width = -(-len(points) // MOST_POINTS) or 1
    groups = [points[at : at + width] for at in range(0, len(points), width)]
    middles = [sorted(group, key=lambda point: point[1])[len(group) // 2] for group in groups]
    return Line(label, [group[0][0] for group in groups], [value for _, value in middles])


def steps(arm: Arm) -> list[tuple[float, str]]:
    """The steps as marks, by number."""
    return [(one.elapsed, f"step {number}") for number, one in enumerate(arm.level_steps, 1)]


def told(arm: Arm) -> str:
    """The steps and where their captures lie, for a caption."""
    places = {one.elapsed: f", captured in {printable(one.folder)}/" for one in arm.captures}
    found = [
        f"; step {number} at {duration(one.elapsed)}{places.get(one.seen, '')}"
        for number, one in enumerate(arm.level_steps, 1)
    ]
    return "".join(found)


def ends(lines: list[Line], text: Callable[[float], str]) -> str:
    """The last value of each curve, for a caption."""
    return "; ".join(f"{one.label} {text(one.values[-1])} at the end" for one in lines if one.values)


def draw(plot: Timeline) -> Figure:
    """Draw one picture."""
    last = max(line.times[-1] for line in plot.lines if line.times)
    _, seconds, unit = next(one for one in SECONDS if last >= one[0])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=INCHES, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for number, line in enumerate(plot.lines):
            for times, values in unbroken(line):
                x, y = [time / seconds for time in times], [value / plot.scale for value in values]
                axes.plot(x, y, color=COLOURS[number % len(COLOURS)], linewidth=1.2, alpha=0.9)
        dress(axes, plot, unit)
        mark(axes, plot, seconds)
        label_ends(axes, plot)
    return figure


def unbroken(line: Line) -> list[tuple[list[float], list[float]]]:
    """The stretches of a curve without a gap."""
    spans = sorted(after - before for before, after in pairwise(line.times))
    usual = spans[len(spans) // 2] if spans else 0.0
    breaks = [at for at, (before, after) in enumerate(pairwise(line.times), 1) if after - before > GAP * usual]
    return [(line.times[start:end], line.values[start:end]) for start, end in pairwise([0, *breaks, len(line.times)])]


def dress(axes: Axes, plot: Timeline, unit: str) -> None:
    """Title, units and as few lines as possible; a single moment does not set the scale."""
    axes.set_title(plot.title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(f"time [{unit}]")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.tick_params(length=0)
    axes.set_axisbelow(True)
    axes.set_ylim(0, 1.06 * max(highest(line) for line in plot.lines) / plot.scale or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def highest(line: Line) -> float:
    """The value that all but one in a hundred stay below, with room for them."""
    ordered = sorted(line.values)
    return min(ordered[-1], 1.5 * ordered[int(0.99 * (len(ordered) - 1))]) if ordered else 0.0


def mark(axes: Axes, plot: Timeline, seconds: float) -> None:
    """A dashed line at each moment, with its word."""
    for moment, word in plot.marks:
        axes.axvline(moment / seconds, color=SOFT, linewidth=1.0, linestyle="--", zorder=3)
        place = axes.get_xaxis_transform()
        axes.text(moment / seconds, 0.98, f" {word}", color=SOFT, fontsize=8, va="top", transform=place)


def label_ends(axes: Axes, plot: Timeline) -> None:
    """Name each curve at its end, far enough apart to be read."""
    low, high = axes.get_ylim()
    drawn = [(number, line) for number, line in enumerate(plot.lines) if line.values]
    order = sorted((min((line.values[-1] / plot.scale - low) / (high - low), 1.0), number) for number, line in drawn)
    height = LOWEST_LABEL - LABEL_GAP
    for at, number in order:
        height = max(at, height + LABEL_GAP)
        text, colour = plot.lines[number].label, COLOURS[number % len(COLOURS)]
        axes.text(1.01, height, text, color=colour, va="center", fontsize=9, transform=axes.transAxes)
