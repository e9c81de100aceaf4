# SPDX-License-Identifier: Apache-2.0
"""Rounds of identical work, each drained and then looked at in every process that carries the probe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vllm_soak.locate.journal import Journal
from vllm_soak.probe.client import ProbeClient
from vllm_soak.verdict.outcome import Outcome, ProcessVerdict

CULPRIT = "single_type_managers[0].new_block_ids"


class Watched:
    """One process: its probe, and what its censuses said.

    Args:
        socket: The probe's socket.
    """

    def __init__(self, socket: Path) -> None:
        self.probe = ProbeClient(socket)
        who = self.probe.ping()
        self.journal = Journal(who["process"], who["pid"])

    def look(self, work: int, *, baseline: bool) -> None:
        """Settle, sample and walk, as `vllm-soak run` does after a round."""
        values = self.probe.sample(settle=True)["values"]
        answer = self.probe.census(baseline=baseline)
        self.journal.add(answer, work=work, seconds=0.0, measured=not baseline, values=values)


def watch_rounds(sockets: list[Path], load: Callable[[int], Any], *, size: int, rounds: int) -> list[Watched]:
    """A round of warm-up that ends with the baseline, then the measured rounds."""
    watched = [Watched(one) for one in sockets]
    for index in range(rounds + 1):
        load(size)
        for one in watched:
            one.look(size, baseline=index == 0)
    return watched


def row(scenario: str, verdict: ProcessVerdict, requests: int, **more: Any) -> dict[str, Any]:
    """What a process's verdict says of the culprit."""
    leaks = [one for one in verdict.suspects if one.outcome is Outcome.LEAK]
    first = verdict.suspects[0] if verdict.suspects else None
    return {
        "scenario": scenario,
        "process": verdict.process,
        "requests": requests,
        "outcome": verdict.outcome.value,
        "first": first.path if first else "",
        "is_culprit": bool(first and first.path.endswith(CULPRIT)),
        "leaks": len(leaks),
        "growth": first.growth if first else [],
        "bytes_per_entry": first.bytes_per_entry if first else None,
        "others": [f"{one.outcome.value}: {one.path}" for one in verdict.suspects[1:]],
        "reason": verdict.reason,
        **more,
    }


def walks(one: Watched) -> dict[str, Any]:
    """The last census's size and cost."""
    last = one.journal.arm.censuses[-1]
    return {"objects": last.objects, "seconds": last.seconds, "walker": last.walker, "partial": last.partial}
