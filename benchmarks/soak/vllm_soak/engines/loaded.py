# SPDX-License-Identifier: Apache-2.0
"""What is to be said of a block of load: failures, a client that was slow itself, a rate that was not kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vllm_soak.errors import EngineError

# Share of a block's requests that may fail: beyond, its work is not that of the other rounds.
MOST_FAILED = 0.02


def remarks(done: Mapping[str, Any]) -> list[str]:
    """Warnings about a block, as sentences without a full stop.

    Args:
        done: A `loaded` answer.
    """
    said = []
    if slow := (done.get("client") or {}).get("bottleneck"):
        said.append(f"the load was the bottleneck: {slow}")
    if delayed := int(done.get("delayed") or 0):
        longest = float(done.get("longest_delay") or 0.0)
        said.append(
            f"the offered rate was not kept: {delayed} arrivals waited for --max-concurrency, {longest:.1f} s at most"
        )
    return [*said, failed_in_words(done)] if done.get("failed") else said


def failed_in_words(done: Mapping[str, Any]) -> str:
    """How many requests failed, and of what."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted((done.get("errors") or {}).items()))
    return f"{done['failed']} of {done['requests']} requests failed ({kinds})"


def too_many_failed(done: Mapping[str, Any]) -> EngineError | None:
    """Why a block cannot be compared with others, or None when it can."""
    if int(done.get("failed") or 0) <= MOST_FAILED * int(done["requests"]):
        return None
    return EngineError(failed_in_words(done), "rounds with so many failures cannot be compared; see the server's log")
