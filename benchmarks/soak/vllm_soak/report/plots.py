# SPDX-License-Identifier: Apache-2.0
"""The curves of a run: bytes in use and allocated, length of the leaking containers, latency.

Importing this module imports matplotlib, which takes about a second; nothing else here does.
Colours are of the Okabe-Ito palette, which colour-blind readers can tell apart, and every curve
is labelled at its end as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from vllm_soak.report.latency import quantile_curve
from vllm_soak.report.measure import (
    Curve,
    allocated_curve,
    culprits,
    in_use_curve,
    length_curve,
    process_names,
    was_walked,
)
from vllm_soak.report.number import STEP, UNITS, count, count_change, size, unit_of
from vllm_soak.report.printable import printable
from vllm_soak.store.record import Arm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict, Suspect

INK, SOFT, GRID = "#1b1f24", "#656d76", "#d8dee4"
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
FEW_ENDS, SHORT_NUMBER = 6, 10_000
STYLES = ("-", "--", ":")
INCHES = (4.3, 3.0)
MOST_PROCESSES, MOST_CONTAINERS = 3, 3
LABEL_GAP, LOWEST_LABEL = 0.08, 0.03
HEADROOM, FLATTEST = 0.06, 1e-9
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "vllm-soak",
    "axes.edgecolor": GRID,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "text.color": INK,
    "text.parse_math": False,
}


@dataclass(frozen=True, slots=True)
class Trace:
    """One line of a plot with the words that stand at its end."""

    curve: Curve
    label: str
    colour: str
    style: str = "-"


@dataclass(frozen=True, slots=True)
class Plot:
    """One picture, before it is drawn.

    Args:
        name: File name without ending.
        title: What is shown, with its unit.
        caption: A sentence for readers who cannot see it.
        scale: Divisor from the traces' values to the axis' unit.
        warm_up: Whether the warm-up is part of the picture, and is shaded.
        axis: What the x axis counts.
    """

    name: str
    title: str
    caption: str
    traces: list[Trace] = field(default_factory=list)
    scale: float = 1.0
    warm_up: bool = False
    axis: str = "requests completed"


# Bytes of each kind that are drawn, and where they come from.
MEMORY: tuple[tuple[str, Callable[[Arm, str], Curve]], ...] = (("in use", in_use_curve), ("allocated", allocated_curve))


def plan_plots(run: RunData, verdict: RunVerdict) -> list[Plot]:
    """The plots that this run has data for."""
    processes = process_names(run, verdict)[:MOST_PROCESSES]
    found = [
        *(memory_plot(run, name, number, *kind) for number, name in enumerate(processes) for kind in MEMORY),
        *(length_plot(run, one, number) for number, one in enumerate(culprits(verdict)[:MOST_CONTAINERS])),
        latency_plot(run),
    ]
    return [one for one in found if any(len(trace.curve.values) > 1 for trace in one.traces)]


def colour(number: int) -> str:
    """The colour of an arm."""
    return COLOURS[number % len(COLOURS)]


def memory_plot(run: RunData, process: str, number: int, kind: str, measure: Callable[[Arm, str], Curve]) -> Plot:
    """Growth of bytes of one kind of one process since its measured rounds began."""
    curves = [measure(arm, process) for arm in run.arms]
    grown = [since_start(one) for one in curves]
    index = unit_of(max((abs(value) for one in grown for value in one.values), default=0.0))
    traces = [Trace(one, printable(one.arm, 30), colour(i)) for i, one in enumerate(grown) if one.values]
    ends = "; ".join(f"{trace.label} {size(trace.curve.values[-1], signed=True)}" for trace in traces)
    file = kind.replace(" ", "-")
    name = file if number == 0 else f"{file}-{number + 1}"
    title = f"Growth of bytes {kind}, {printable(process, 30)} [{UNITS[index]}]"
    caption = f"Growth of bytes {kind} over the measured rounds: {ends}."
    return Plot(name, title, caption, traces, STEP**index, axis="requests in the measured rounds")


def since_start(curve: Curve) -> Curve:
    """A curve from its first point on: arms may have warmed up for a different time."""
    requests = [at - curve.requests[0] for at in curve.requests]
    return Curve(curve.arm, requests, [value - curve.values[0] for value in curve.values])


def length_plot(run: RunData, suspect: Suspect, number: int) -> Plot:
    """Length of one leaking container, before and after the patch in one picture."""
    curves = [length_curve(arm, suspect) for arm in run.arms]
    traces = [Trace(one, printable(one.arm, 30), colour(i)) for i, one in enumerate(curves) if one.values]
    ends = [f"{one.label} {count_change(one.curve.values[0], one.curve.values[-1])}" for one in traces]
    ends += [f"{printable(arm, 30)} did not grow" for arm in flat_arms(run, suspect, traces)]
    name = printable(suspect.path.rsplit(".", 1)[-1], 40)
    file = "length" if number == 0 else f"length-{number + 1}"
    return Plot(file, f"Length of {name} [items]", f"Length of {name}: {'; '.join(ends)}.", traces, warm_up=True)


def flat_arms(run: RunData, suspect: Suspect, traces: list[Trace]) -> list[str]:
    """Arms whose censuses would have named the container, had it grown there."""
    drawn = {one.curve.arm for one in traces}
    return [arm.name for arm in run.arms if arm.name not in drawn and was_walked(arm, suspect.process)]


def latency_plot(run: RunData) -> Plot:
    """Median and 99th percentile of request latency by round."""
    traces = [
        Trace(quantile_curve(arm, share), f"{printable(arm.name, 30)} p{share * 100:g}", colour(i), style)
        for i, arm in enumerate(run.arms)
        for share, style in ((0.5, STYLES[0]), (0.99, STYLES[1]))
    ]
    traces = [one for one in traces if one.curve.values]
    most = max((value for one in traces for value in one.curve.values), default=0.0)
    scale, unit = (1.0, "s") if most >= 1 else (0.001, "ms")
    ends = "; ".join(f"{one.label} {one.curve.values[-1] / scale:.3g} {unit}" for one in traces)
    return Plot("latency", f"Request latency by round [{unit}]", f"In the last round: {ends}.", traces, scale)


def draw(plot: Plot) -> Figure:
    """Draw one plot."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=INCHES, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for trace in plot.traces:
            values = [value / plot.scale for value in trace.curve.values]
            axes.plot(
                trace.curve.requests, values, color=trace.colour, linestyle=trace.style, linewidth=1.8, clip_on=False
            )
            if len(values) <= 40:
                axes.plot(trace.curve.requests, values, "o", color=trace.colour, markersize=3, clip_on=False)
        dress(axes, plot)
        shade(axes, plot)
        label_ends(axes, plot)
    return figure


def dress(axes: Axes, plot: Plot) -> None:
    """Title, zero line, units and as few lines as possible."""
    axes.set_title(plot.title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(plot.axis)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.tick_params(length=0)
    axes.set_axisbelow(True)
    low, high = axes.get_ylim()
    bottom = min(low, 0.0) if min_value(plot) < 0 else 0.0
    axes.axhline(0, color=SOFT, linewidth=0.8, zorder=1, visible=bottom < 0)
    axes.set_ylim(bottom, max(high + HEADROOM * (high - bottom), bottom + FLATTEST))
    ends = plot.traces[0].curve.requests
    few = len(ends) <= FEW_ENDS and ends[-1] < SHORT_NUMBER and all(one.curve.requests == ends for one in plot.traces)
    axes.xaxis.set_major_locator(FixedLocator(ends) if few else MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def min_value(plot: Plot) -> float:
    """The least value of a plot."""
    return min((value for trace in plot.traces for value in trace.curve.values), default=0.0)


def shade(axes: Axes, plot: Plot) -> None:
    """Set the warm-up apart."""
    warm = max((trace.curve.warm_up for trace in plot.traces), default=0)
    if plot.warm_up and warm:
        left = axes.get_xlim()[0]
        axes.axvspan(left, warm, color=GRID, alpha=0.5, linewidth=0)
        axes.set_xlim(left=left)
        axes.text(
            warm, 0.97, "warm-up ", ha="right", va="top", color=SOFT, fontsize=8, transform=axes.get_xaxis_transform()
        )


def label_ends(axes: Axes, plot: Plot) -> None:
    """Name each curve at its end, far enough apart to be read."""
    low, high = axes.get_ylim()
    ends = sorted(
        ((one.curve.values[-1] / plot.scale - low) / (high - low), number) for number, one in enumerate(plot.traces)
    )
    height = LOWEST_LABEL - LABEL_GAP
    for at, number in ends:
        trace = plot.traces[number]
        height = max(at, height + LABEL_GAP)
        axes.text(1.01, height, trace.label, color=trace.colour, va="center", fontsize=9, transform=axes.transAxes)
