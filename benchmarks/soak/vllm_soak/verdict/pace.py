# SPDX-License-Identifier: Apache-2.0
"""Does growth keep its pace, or does it slow down?

A leak adds the same amount for the same work. A cache that fills up, or one that grows with the
logarithm of the work, adds less and less: after n requests a logarithmic one grows at a rate in
proportion to 1/n. A straight line is laid through the growth per request of the rounds; its height at
the last round over its height at the first is the pace: 1 for a leak, `first / last` (in requests) for
logarithmic growth since the start. The line between the two is drawn half-way, and growth counts as
steady only when the whole uncertainty of the pace lies above it. So noise, a step or a slowing
cache asks for more rounds; it never makes a leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm_soak.verdict.straight import straight
from vllm_soak.verdict.student import normal_quantile, t_quantile

if TYPE_CHECKING:
    from vllm_soak.verdict.series import Series

# One-sided: how often growth that lies exactly on the half-way line may pass for steady.
ERROR = 0.01
FEWEST_POINTS = 3
# Standard deviation of the difference of two values that are each rounded down to a whole quantum.
ROUNDING = (1 / 6) ** 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How growth per request at the last round compares with the first.

    Args:
        ratio: Last over first, by the fitted line.
        low: Lower end of its one-sided interval (99 % by default).
        line: Half-way between steady (1) and logarithmic growth.
    """

    ratio: float
    low: float
    line: float

    @property
    def steady(self) -> bool:
        """Whether growth did not slow down, beyond doubt."""
        return self.low > self.line


def pace(series: Series, quantum: float, error: float = ERROR) -> Pace | None:
    """Return the pace of a series, or None with fewer than three rounds or no growth to compare.

    Args:
        series: Points over requests.
        quantum: The step that values are rounded to: 1 for entries, the page size for bytes.
        error: One-sided error rate.
    """
    growth, spans = series.growth, series.spans
    if len(growth) < FEWEST_POINTS or min(spans) <= 0:
        return None
    rates = [step / span for step, span in zip(growth, spans, strict=True)]
    drop, start, spread = _line(_unit(series.middles), rates, quantum / min(spans), error)
    if start <= 0:
        return None
    return Pace(1 + drop / start, 1 + (drop - spread) / start, line_of(series))


def line_of(series: Series) -> float:
    """Return the line half-way between growth that is steady and growth with the logarithm of the work."""
    return (1 + series.middles[0] / series.middles[-1]) / 2


def _unit(middles: list[float]) -> list[float]:
    """Scale so that the first round lies at 0 and the last at 1."""
    return [(one - middles[0]) / (middles[-1] - middles[0]) for one in middles]


def _line(places: list[float], rates: list[float], quantum: float, error: float) -> tuple[float, float, float]:
    """Fit `rate = start + drop * place`; return drop, start, and how far the drop may be off.

    The spread is the greater of what the scatter of the rounds says (Student t, n - 2 degrees of
    freedom) and of what rounding alone would do, so that a few equal small numbers prove nothing.
    """
    line = straight(places, rates)
    scatter = line.scatter * t_quantile(1 - error, line.freedom)
    rounding = ROUNDING * quantum * normal_quantile(1 - error)
    return line.slope, line.start, max(scatter, rounding) / line.leverage**0.5
