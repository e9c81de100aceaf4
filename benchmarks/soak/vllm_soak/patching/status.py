# SPDX-License-Identifier: Apache-2.0
"""What became of each patch in this process: by name, never silence."""

from __future__ import annotations

import logging
import multiprocessing
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.patching.patch import Patch

# A child of vLLM's own logger: its handler, level and format then apply, whatever the user configured.
LOGGER = logging.getLogger("vllm.vllm_soak")


class Status(str, Enum):
    """The possible answers."""

    APPLIED = "applied"
    NOT_NEEDED = "not-needed"
    UNKNOWN_VERSION = "unknown-version"
    DRIFTED = "drifted"
    DISABLED = "disabled"
    FAILED = "failed"


QUIET = frozenset({Status.APPLIED, Status.NOT_NEEDED, Status.DISABLED})


@dataclass(frozen=True)
class PatchStatus:
    """One patch in this process.

    Args:
        reason: Why, in words.
        upstream: Where the defect is reported and fixed.
        affected: PEP 440 specifier of the releases that have it.
    """

    name: str
    status: Status
    reason: str
    upstream: str
    affected: str


_statuses: dict[str, PatchStatus] = {}


def record(patch: Patch, status: Status, reason: str) -> PatchStatus:
    """Remember what became of a patch."""
    _statuses[patch.name] = PatchStatus(patch.name, status, reason, patch.upstream, patch.affected)
    return _statuses[patch.name]


def current() -> list[PatchStatus]:
    """Every status recorded in this process so far."""
    return list(_statuses.values())


def report(process: str | None = None) -> list[dict[str, str]]:
    """The statuses as rows of `store.record.PatchRow` without `arm`.

    Args:
        process: What to call this process; by default its `multiprocessing` name.
    """
    process = multiprocessing.current_process().name if process is None else process
    return [row(status, process) for status in current()]


def row(status: PatchStatus, process: str) -> dict[str, str]:
    """One status as a row of `store.record.PatchRow` without `arm`."""
    return {
        "process": process,
        "name": status.name,
        "status": status.status.value,
        "reason": status.reason,
        "upstream": status.upstream,
        "affected": status.affected,
    }


def log_line(statuses: Iterable[PatchStatus], engine: str, version: str | None) -> None:
    """Say all statuses in one line, as a warning when one needs attention."""
    statuses = list(statuses)
    text = "; ".join(f"{status.name} {status.status.value} ({status.reason})" for status in statuses)
    level = logging.INFO if all(status.status in QUIET for status in statuses) else logging.WARNING
    LOGGER.log(level, "vllm-soak patches for %s %s: %s", engine, version or "(not installed)", text)
