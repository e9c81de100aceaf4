# SPDX-License-Identifier: Apache-2.0
"""What is to be said of a block or a round of load: failures, a rate that was not kept, a client at its own limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vllm_soak.errors import EngineError

# Share of a block's requests that may fail: beyond, its work is not that of the other rounds.
MOST_FAILED = 0.02
# Of the one core that the load's single thread can use.
BUSY_CORE = 0.9


def remarks(done: Mapping[str, Any]) -> list[str]:
    """Warnings about a block, as sentences without a full stop.

    Args:
        done: A `loaded` answer.
    """
    said = []
    if delayed := int(done.get("delayed") or 0):
        longest = float(done.get("longest_delay") or 0.0)
        said.append(
            f"the offered rate was not kept: {delayed} arrivals waited for --max-concurrency, {longest:.1f} s at most"
        )
    return [*said, failed_in_words(done)] if done.get("failed") else said


def limited_by_client(pieces: Sequence[Mapping[str, Any]]) -> str:
    """Say that the load process was at its own limit over a whole round, or answer an empty string.

    Args:
        pieces: `loaded` answers of the round's blocks; those of hosts, which have no client, say nothing.
    """
    used = sum(cores(piece) * float(piece["seconds"]) for piece in pieces)
    seconds = sum(float(piece["seconds"]) for piece in pieces)
    if seconds <= 0 or used < BUSY_CORE * seconds:
        return ""
    return (
        f"the load was the bottleneck: its process used {used / seconds:.2f} of the one core that it can use over a "
        "measured round, so that it may have set the rate, not the server"
    )


def cores(done: Mapping[str, Any]) -> float:
    """Cores that the load process used, 0 where there is none."""
    return float((done.get("client") or {}).get("cpu") or 0.0)


def failed_in_words(done: Mapping[str, Any]) -> str:
    """How many requests failed, and of what."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted((done.get("errors") or {}).items()))
    return f"{done['failed']} of {done['requests']} requests failed ({kinds})"


def too_many_failed(done: Mapping[str, Any]) -> EngineError | None:
    """Why a block cannot be compared with others, or None when it can."""
    if int(done.get("failed") or 0) <= MOST_FAILED * int(done["requests"]):
        return None
    return EngineError(failed_in_words(done), "rounds with so many failures cannot be compared; see the server's log")
