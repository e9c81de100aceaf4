# SPDX-License-Identifier: Apache-2.0
"""What an arm's processes are asked after each round, while the engine is idle: settled, sampled, walked, stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from vllm_soak.engines.census_rows import census_row, population_rows
from vllm_soak.engines.soaked import unique_role
from vllm_soak.probe.client import ProbeClient
from vllm_soak.store.record import Sample
from vllm_soak.store.writer import RunStore


class Examination:
    """Examines the processes of one arm, round after round.

    Args:
        arm: Name of the arm.
        store: Where rows go.
        contents: Whether censuses show the contents of what grew.

    Attributes:
        named: Paths that censuses have named so far, what grew most first.
        watched: Paths whose length every sample carries.
    """

    def __init__(self, arm: str, store: RunStore, watched: Sequence[str], *, contents: bool) -> None:
        self.arm = arm
        self.store = store
        self.contents = contents
        self.named: dict[str, None] = {}
        self.watched = list(watched)
        self._began = time.monotonic()
        self._walked: set[int] = set()

    def examine(self, probes: Sequence[ProbeClient], index: int, phase: str, requests: int) -> None:
        """Settle, sample and walk every process, one after the other.

        Args:
            probes: One for each process.
            index: The round's.
            phase: The round's.
            requests: That the arm has completed.

        Raises:
            EngineError: A process does not answer.
        """
        seen: list[str] = []
        for probe in probes:
            who = probe.ping()
            pid, process = int(who["pid"]), unique_role(str(who["process"]), seen)
            seen.append(process)
            self._sampled(index, phase, process, pid, requests, probe.sample(settle=True, watch=self.watched))
            answer = probe.census(baseline=pid not in self._walked, contents=self.contents)
            self._walked.add(pid)
            self._censused(index, process, requests, answer)

    def _sampled(self, index: int, phase: str, process: str, pid: int, requests: int, sample: dict[str, Any]) -> None:
        row = Sample(
            arm=self.arm,
            process=process,
            pid=pid,
            phase=phase,
            round=index,
            requests=requests,
            elapsed=time.monotonic() - self._began,
            values=sample["values"],
            lengths=sample["lengths"],
            garbage=sample.get("garbage", []),
        )
        self.store.add_sample(row)

    def _censused(self, index: int, process: str, requests: int, answer: dict[str, Any]) -> None:
        where = {"arm": self.arm, "process": process, "round": index, "requests": requests}
        self.named |= {row["path"]: None for row in answer["populations"]}
        self.store.add_census(census_row(answer, where), population_rows(answer, where))
