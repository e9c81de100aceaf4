# SPDX-License-Identifier: Apache-2.0
"""What one rule decided, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_soak.verdict.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's decision.

    Args:
        rule: The rule's name, as in `docs/verdict.md`.
        reason: What it saw, in one sentence without a full stop.
        settle: What else to run to settle an inconclusive answer.
    """

    outcome: Outcome
    rule: str
    reason: str
    settle: str = ""
