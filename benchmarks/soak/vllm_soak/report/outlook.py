# SPDX-License-Identifier: Apache-2.0
"""A forecast as a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.report.number import count, size
from vllm_soak.report.printable import printable
from vllm_soak.verdict.forecast import CONTROL_GROUP, Forecast, Room, forecast

if TYPE_CHECKING:
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict

SECONDS_A_DAY = 86_400
HOURS_A_DAY, HOURS_A_YEAR = 24.0, 24.0 * 365.25
# Beyond this a straight line says nothing.
MOST_YEARS = 10
BEYOND = f"more than {MOST_YEARS} years"
# Units of time ahead: from how many hours on, and how many hours they are.
UNITS_AHEAD = (("years", HOURS_A_YEAR, HOURS_A_YEAR), ("days", 4 * HOURS_A_DAY, HOURS_A_DAY), ("h", 3.0, 1.0))


def forecasts(run: RunData, verdict: RunVerdict) -> list[Forecast]:
    """The forecast of every arm that was measured."""
    judged = {one.arm: one for one in verdict.arms}
    found = [forecast(arm, judged[arm.name]) for arm in run.arms if arm.name in judged]
    return [one for one in found if one is not None]


def outlook(run: RunData, verdict: RunVerdict) -> list[str]:
    """One sentence an arm on where memory is going."""
    found = forecasts(run, verdict)
    return [(f"{printable(one.arm, 30)}: " if len(found) > 1 else "") + sentence(one) for one in found]


def sentence(one: Forecast) -> str:
    """A forecast in words."""
    if one.per_request is None:
        return quiet(one)
    return certain(one) if one.settled else f"whether this goes on is open, but if it does: {certain(one)}"


def certain(one: Forecast) -> str:
    """What growth that goes on means."""
    grows = f"grows by {small(one.per_request or 0.0)}{interval(one)} a request"
    if one.rate is None:
        return grows
    at = f"at {speed(one.rate)} requests/s"
    if one.hours is None or one.room is None:
        daily = size((one.per_request or 0.0) * one.rate * SECONDS_A_DAY)
        return f"{grows}: {daily} a day {at}"
    return f"reaches {limit(one.room)} in {when(one)} {at}; {grows}, and {size(one.room.left)} were left"


def quiet(one: Forecast) -> str:
    """What can be said when nothing grows for sure."""
    if not one.settled:
        return "whether memory grows is open"
    if one.detectable is None:
        return "no sign of growth, but too few measurements of bytes in use to say how small a leak would have shown"
    return f"no sign of growth; smallest leak that this run would have seen: {small(one.detectable)} a request"


def interval(one: Forecast) -> str:
    """The interval of the growth; growth told from containers has none, and is the least."""
    if one.low is None or one.high is None:
        return " at least, by its containers alone,"
    return f" ({small(one.low)} to {small(one.high)})"


def limit(room: Room) -> str:
    """The limit that comes first."""
    whose = "the control group's limit" if room.of == CONTROL_GROUP else "the machine's memory"
    return f"{whose} ({size(room.limit)})"


def when(one: Forecast) -> str:
    """The time until then, with its interval in the same unit."""
    unit = unit_of(one.hours)
    middle, early, late = (span(hours, unit) for hours in (one.hours, one.soonest, one.latest))
    name = "" if middle == BEYOND else f" {unit}"
    if one.soonest is None or one.latest is None or middle == late == early:
        return f"{middle}{name}"
    return f"{middle}{name} ({early} to {late}{'' if late == BEYOND else f' {unit}'})"


def unit_of(hours: float | None) -> str:
    """The unit that suits a time ahead."""
    return next((name for name, least, _ in UNITS_AHEAD if hours is not None and hours >= least), "min")


def span(hours: float | None, unit: str) -> str:
    """A time ahead in a unit, with a digit where it is short; ten years and more are only said to be so."""
    if hours is None or hours > MOST_YEARS * HOURS_A_YEAR:
        return BEYOND
    value = hours / next((size for name, _, size in UNITS_AHEAD if name == unit), 1 / 60)
    return f"{value:.1f}" if value < 9.95 and unit != "min" else f"{value:,.0f}"


def small(value: float) -> str:
    """Bytes of one request: with a digit below ten, where it matters."""
    return f"{value:.2g} B" if 0 < value < 10 else size(value)


def speed(rate: float) -> str:
    """Requests a second: whole, or with a digit below ten."""
    return count(round(rate)) if rate >= 10 else f"{rate:.2g}"
