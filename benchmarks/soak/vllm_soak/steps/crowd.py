# SPDX-License-Identifier: Apache-2.0
"""How much others on the machine are in a server's way, and when that is about the same.

Two things tell: how long the server's main threads wait for a core, and how much of the machine others use. The second
is needed, for a program on the other thread of a core slows the server without making it wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# Differences up to which two moments are alike: in seconds a second, as a share of the machine, and in either
# as a share of what is compared with.
ALIKE_WAIT, ALIKE_SHARE, ALIKE_PART = 0.08, 0.08, 0.3


@dataclass(frozen=True, slots=True)
class Crowd:
    """Others on the machine, in one second or over a few.

    Args:
        wait: Seconds a second that the server's main threads were ready without a core, all together.
        share: Share of the machine's processors that others used, 0 to 1.
    """

    wait: float
    share: float

    def resembles(self, other: Crowd) -> bool:
        """Whether others are in the way about as much as at another moment."""
        return (
            abs(self.wait - other.wait) <= ALIKE_WAIT + ALIKE_PART * other.wait
            and abs(self.share - other.share) <= ALIKE_SHARE + ALIKE_PART * other.share
        )


def mean_crowd(crowds: Sequence[Crowd]) -> Crowd | None:
    """Return the mean of some moments, None without any."""
    if not crowds:
        return None
    return Crowd(sum(one.wait for one in crowds) / len(crowds), sum(one.share for one in crowds) / len(crowds))


def alike(crowds: Sequence[Crowd | None], newest: int) -> list[int]:
    """Return the indices of the moments that resemble the newest ones.

    Args:
        crowds: Moments in order, None where nothing is known.
        newest: How many of the newest are taken together, by the median.
    """
    known = [one for one in crowds[-newest:] if one is not None]
    if not known:
        return []
    now = Crowd(median(one.wait for one in known), median(one.share for one in known))
    return [at for at, one in enumerate(crowds) if one is not None and one.resembles(now)]
