# SPDX-License-Identifier: Apache-2.0
"""Ever growing counts, and what was added to them a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """Ever growing counts at one moment, to take rates from.

    Args:
        at: Seconds of a steady clock.
        values: The counts.
    """

    at: float
    values: dict[str, float]

    def rates(self, later: Counts) -> dict[str, float]:
        """Return what was added a second until a later moment; a count that fell is left out."""
        seconds = later.at - self.at
        if seconds <= 0:
            return {}
        added = {name: value - self.values[name] for name, value in later.values.items() if name in self.values}
        return {name: value / seconds for name, value in added.items() if value >= 0}
