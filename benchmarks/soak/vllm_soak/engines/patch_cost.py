# SPDX-License-Identifier: Apache-2.0
"""What a patch costs: neighbouring blocks with it off and on in one process.

Two processes of the same engine differ by more than a patch may cost, by the cores that they got; one process
compared with itself does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable

# A slow model does not run all pairs: this long, and at least as many as give an interval at all.
COST_SECONDS = 120.0
FEWEST_PAIRS = 6


def switched_blocks(rate: Callable[[bool], float], pairs: int) -> list[list[float]]:
    """Requests a second without and with the patches, of each pair of blocks; which one leads alternates.

    Args:
        rate: Runs one block with the patches off or on.
        pairs: Pairs at most.
    """
    rates: list[dict[bool, float]] = []
    began = time.monotonic()
    for pair in range(pairs):
        if pair >= FEWEST_PAIRS and time.monotonic() - began > COST_SECONDS:
            break
        order = (False, True) if pair % 2 else (True, False)
        rates.append({on: rate(on) for on in order})
    return [[one[False], one[True]] for one in rates]
