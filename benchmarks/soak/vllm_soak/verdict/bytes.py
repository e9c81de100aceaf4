# SPDX-License-Identifier: Apache-2.0
"""Statistics over bytes in use: how fast they grow, and whether that is a leak in its own right.

Resident bytes move in steps (a list's buffer is reallocated in steps of 12.5 %, glibc extends its
heap by 128 KiB) and wander with noise that is correlated in time, so a slope alone proves
nothing. `leak-native` needs every round to grow, a slope that is clear of the floor, a pace that
holds, and five rounds; and only what named containers do not explain counts.
"""

from __future__ import annotations

from vllm_soak.verdict.finding import Finding
from vllm_soak.verdict.outcome import Outcome, Slope
from vllm_soak.verdict.pace import pace
from vllm_soak.verdict.series import Series
from vllm_soak.verdict.straight import straight
from vllm_soak.verdict.student import t_quantile

PAGE = 4096
FEWEST_ROUNDS = 5
CONFIDENCE = 0.95
# One page per 1,000 requests is the least that anonymous memory can show in that time.
FLOOR_PER_THOUSAND = PAGE
# Two extensions of glibc's heap (M_TOP_PAD, 128 KiB): one is a step, not a trend.
FLOOR_TOTAL = 2 * 128 * 1024
# One-sided error of the pace test; bytes are noisier than lengths, and three other conditions hold.
PACE_ERROR = 0.05


def slope(series: Series) -> Slope | None:
    """Return the least-squares slope with its Student-t interval, or None below three points."""
    x = [requests / 1000 for requests in series.requests]
    if len(x) < 3 or x[0] == x[-1]:
        return None
    line = straight(x, series.values)
    margin = t_quantile((1 + CONFIDENCE) / 2, line.freedom) * line.scatter / line.leverage**0.5
    return Slope(line.slope, line.slope - margin, line.slope + margin, line.points)


def detectable(series: Series) -> float | None:
    """Return the smallest leak that would have shown, in bytes per 1,000 requests.

    The upper end of the slope's interval, and never less than one page over the whole work.
    """
    found = slope(series)
    return None if found is None else max(found.high, PAGE * 1000 / series.work)


def without(series: Series, named: list[float]) -> Series:
    """Return bytes less what named containers grew by, point by point."""
    return Series(series.requests, [y - n for y, n in zip(series.values, named, strict=True)])


def judge_bytes(series: Series, name: str = "bytes in use") -> Finding | None:
    """Return `leak-native`, an open question, or None when bytes show no growth beyond noise.

    Args:
        series: Bytes over the judged rounds, without what named containers explain.
        name: What they are called in the reason.
    """
    found = slope(series)
    if found is None or not grows_beyond_noise(series, found):
        return None
    if len(series.growth) < FEWEST_ROUNDS:
        return _open(_few(series, name), "few-bytes")
    kept = pace(series, quantum=PAGE, error=PACE_ERROR)
    if kept is None or not kept.steady:
        return _open(f"{name} grew in every round, but may be slowing down", "slowing-bytes")
    return Finding(
        Outcome.LEAK_NATIVE,
        "native-growth",
        f"{name} grew in each of {len(series.growth)} rounds, by {found.per_thousand:,.0f} bytes per "
        f"1,000 requests (95 % interval {found.low:,.0f} to {found.high:,.0f})",
    )


def grows_beyond_noise(series: Series, found: Slope) -> bool:
    """Whether every round grew by a page or more, in all by more than heap extensions, and clear of the floor."""
    every = all(step >= PAGE for step in series.growth)
    return every and series.total >= FLOOR_TOTAL and found.low > FLOOR_PER_THOUSAND


def _few(series: Series, name: str) -> str:
    """Say what is counted: n measurements compare n - 1 rounds."""
    counted = f"{len(series.values)} measurements compare {len(series.growth)} of them"
    return f"{name} grew in every round that can be compared, but {counted}, and a trend in bytes needs {FEWEST_ROUNDS}"


def _open(reason: str, rule: str) -> Finding:
    settle = f"run at least {FEWEST_ROUNDS} measured rounds, and more or larger ones if that was so"
    return Finding(Outcome.INCONCLUSIVE, rule, reason, f"{settle} (--rounds, --num-prompts)")
