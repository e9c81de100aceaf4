# SPDX-License-Identifier: Apache-2.0
"""A leak that may be a cache on its way to a limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vllm_soak.verdict.finding import Finding
from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.verdict.lengths import Growth

MAY_BE_BOUNDED = "may-be-bounded"


def unless_limited(growth: Growth, finding: Finding) -> Finding:
    """Keep back from calling a leak what may be a cache on its way to a limit: a leak passes that in the end."""
    length, limit = growth.series.values[-1], growth.limit
    if finding.outcome is not Outcome.LEAK or limit is None or length > limit:
        return finding
    left = math.ceil((limit - length + 1) * growth.series.work / growth.series.total)
    return Finding(
        Outcome.INCONCLUSIVE,
        MAY_BE_BOUNDED,
        f"{finding.reason}; holds {length:,.0f} entries, and {growth.limit_name}={limit:,} may be its limit",
        f"run on until it stops or passes {limit:,} entries: some {left:,} more requests (--num-prompts, --max-rounds)",
    )
