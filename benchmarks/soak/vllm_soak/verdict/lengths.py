# SPDX-License-Identifier: Apache-2.0
"""The lengths of one container, with what else is known of it: what the rules look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_soak.verdict.series import Series
    from vllm_soak.verdict.track import Track


@dataclass(frozen=True, slots=True)
class Growth:
    """What the rules look at.

    Args:
        series: Length over requests, from the end of warm-up.
        bound: The greatest possible length, when it is known.
        bound_reason: How it is known.
        limit: A number beside it that reads like its limit.
        limit_name: Where that stands.
        age: Seconds after which entries may be dropped, by a number beside it.
        age_name: Where that stands.
        seconds: How long the rounds before the last took under load.
        first_round: As in `Track`.
        idle: As in `Track`.
    """

    series: Series
    bound: int | None = None
    bound_reason: str = ""
    first_round: int = 1
    idle: int = 0
    limit: int | None = None
    limit_name: str = ""
    age: float | None = None
    age_name: str = ""
    seconds: float = 0.0

    @property
    def steps(self) -> list[float]:
        """Entries added in each round."""
        return self.series.growth

    @property
    def rounds(self) -> int:
        """Rounds that the container was seen to grow or not to grow in."""
        return len(self.steps) + (self.idle + 1 if self.idle else 0)

    @property
    def grew(self) -> int:
        """Rounds that it grew in."""
        return sum(step > 0 for step in self.steps) + bool(self.idle)


def growth_of(track: Track, seconds: float = 0.0) -> Growth:
    """Return what the rules look at for a container.

    Args:
        track: The container over the judged rounds.
        seconds: How long the rounds before the last took under load.
    """
    last = track.rows[-1]
    return Growth(
        series=track.series,
        bound=last.bound,
        bound_reason=last.bound_reason,
        first_round=track.first_round,
        idle=track.idle,
        limit=last.limit,
        limit_name=last.limit_name,
        age=last.age,
        age_name=last.age_name,
        seconds=seconds,
    )
