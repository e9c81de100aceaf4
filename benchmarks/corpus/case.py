# SPDX-License-Identifier: Apache-2.0
"""One case: an engine release under a load, and what must be said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vllm_soak.verdict.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Expected:
    """What the verdict must be.

    Args:
        outcomes: The outcomes that are right; the first is the one to expect.
        leaks: Ends of the path templates of all containers that are called a leak; each is found, and no other.
        ring: What one of the rings of objects holds that collections freed, or an empty string.
        at_most_bounded: Ends of the path templates of containers that may be named, but as bounded only.
        says: Words that one of the report's sentences must have, or an empty string.
        unsaid: Words that none of them may have, or an empty string.
    """

    outcomes: tuple[Outcome, ...]
    leaks: tuple[str, ...] = ()
    at_most_bounded: tuple[str, ...] = ()
    ring: str = ""
    says: str = ""
    unsaid: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One soak.

    Args:
        defect: What it is about; several cases share it: the affected release or setting, and its control.
        variant: Which of them.
        engine: NAME==VERSION.
        expected: What must be said.
        flags: Fields of `vllm_soak.plan.Plan`.
        scenario: Module of this package that drives the engine, where `vllm-soak run` cannot offer such a load.
        environment: Environment variables of the engine.
        per_request: What one request leaves behind: entries, where that is known exactly.
    """

    defect: str
    variant: str
    engine: str
    expected: Expected
    flags: dict[str, Any] = field(default_factory=dict)
    scenario: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    per_request: float | None = None

    @property
    def name(self) -> str:
        """What the command line calls it: `lora-stats/0.11.0`."""
        return f"{self.defect}/{self.variant}"
