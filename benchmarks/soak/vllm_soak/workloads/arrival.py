# SPDX-License-Identifier: Apache-2.0
"""When requests are offered: all at once up to a concurrency, or at random times of a given rate."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator


def intervals(rate: float, burstiness: float = 1.0, seed: int = 0) -> Iterator[float]:
    """Seconds between one arrival and the next, for ever.

    Intervals are gamma distributed with shape `burstiness` and mean `1 / rate`, as in
    `vllm bench serve`: 1 is a Poisson process, below 1 burstier, above 1 more regular.

    Args:
        rate: Requests a second; infinity yields zeros (a closed loop).
        burstiness: Shape of the gamma distribution.
        seed: Same seed, same arrivals.

    Raises:
        ValueError: Rate or burstiness is not above zero.
    """
    if not rate > 0 or not burstiness > 0:
        raise ValueError(f"request rate {rate} and burstiness {burstiness} must be above 0")
    if math.isinf(rate):
        while True:
            yield 0.0
    generator = random.Random(seed)  # noqa: S311 - arrivals must repeat, not be secret
    scale = 1.0 / (rate * burstiness)
    while True:
        yield generator.gammavariate(burstiness, scale)
