# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them: counts, sizes in binary units, shares and times.

A number that is missing or not finite reads `n/a`; it is never shown as zero.
"""

from __future__ import annotations

import math

MISSING = "n/a"
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
STEP = 1024.0
MOST_DECIMALS = 3
GREATEST_IN_CHANGE = UNITS.index("MiB")


def known(value: float | None) -> bool:
    """Whether there is a finite number to show."""
    return value is not None and math.isfinite(value)


def count(value: float | None, *, signed: bool = False) -> str:
    """Show a count with thousands separators, with one decimal where it is not whole."""
    if value is None or not math.isfinite(value):
        return MISSING
    digits = 0 if round(value, 1) == round(value) else 1
    return f"{value:{'+' if signed else ''},.{digits}f}"


def unit_of(value: float) -> int:
    """Index into `UNITS` of the greatest unit that the value fills."""
    index = 0
    while abs(value) >= STEP ** (index + 1) and index < len(UNITS) - 1:
        index += 1
    return index


def size(value: float | None, *, signed: bool = False) -> str:
    """Show bytes in the unit they fill: `0 B`, `124 B`, `363.0 KiB`, `1.3 MiB`."""
    if value is None or not math.isfinite(value):
        return MISSING
    value = round(value)
    index = unit_of(value)
    digits = 1 if index else 0
    sign = "+" if signed and value else ""
    return f"{value / STEP**index:{sign},.{digits}f} {UNITS[index]}"


def small_size(value: float | None) -> str:
    """Show bytes of one object, where hundredths of a byte matter: `8.85 B`."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:.2f} B" if 0 < abs(value) < 100 else size(value)


def rate(value: float | None, *, signed: bool = True) -> str:
    """Show objects a request: `+14.0`."""
    if value is None or not math.isfinite(value):
        return MISSING
    digits = 1 if abs(value) >= 1 or not value else 3
    return f"{value:{'+' if signed else ''},.{digits}f}"


def size_change(before: float | None, after: float | None) -> str:
    """Show two sizes in one unit, MiB at most, with the decimals that it takes to tell them apart."""
    if before is None or after is None or not (known(before) and known(after)):
        return f"{size(before)} → {size(after)}"
    index = min(unit_of(max(abs(before), abs(after))), GREATEST_IN_CHANGE)
    scale = STEP**index
    digits = change_digits(before / scale, after / scale) if index else 0
    return f"{before / scale:,.{digits}f} → {after / scale:,.{digits}f} {UNITS[index]}"


def change_digits(before: float, after: float) -> int:
    """Decimals that two values need to look different, at most three."""
    for digits in range(1, MOST_DECIMALS + 1):
        if f"{before:.{digits}f}" != f"{after:.{digits}f}":
            return digits
    return 1


def count_change(before: float | None, after: float | None) -> str:
    """Show two counts."""
    return f"{count(before)} → {count(after)}"


def percent(share: float | None) -> str:
    """Show a share of one as a whole percentage."""
    return MISSING if share is None or not math.isfinite(share) else f"{share * 100:,.0f} %"


def duration(seconds: float | None) -> str:
    """Show a time in the unit that suits it: `1.5 ms`, `270 ms`, `1.2 s`, `3 min 5 s`."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if abs(seconds) < 1:
        digits = 1 if abs(seconds) < 0.01 else 0
        return f"{seconds * 1000:.{digits}f} ms"
    if abs(seconds) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def plural(number: float, noun: str) -> str:
    """Show a count and its noun: `1 round`, `5 rounds`."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"
