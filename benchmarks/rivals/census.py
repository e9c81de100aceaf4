# SPDX-License-Identifier: Apache-2.0
"""vllm-soak's own probe: settle, sample and census over its socket, in process or in the EngineCore child."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rivals.adapter import Adapter
from rivals.evidence import Reading
from vllm_soak.probe.client import ProbeClient

# The default of `vllm-soak locate`.
PAUSE_MS = 5.0


class Census(Adapter):
    """Collects the answers; the verdict over them is the controller's (`rivals.verdict`)."""

    beside = True
    windows = 5

    def __init__(self, folder: Path, pid: int | None = None) -> None:
        super().__init__(folder, pid)
        self.client = ProbeClient(Path(os.environ["VLLM_SOAK_PROBE"]) / f"{self.pid}.sock")
        self.walk: dict[str, Any] = {}

    def start(self) -> None:
        """Take the census to compare with."""
        self.records = []
        self._record(0, baseline=True)

    def read(self, requests: int) -> Reading:
        """What `vllm-soak run` does after a round."""
        self._record(requests, baseline=False)
        return Reading([])

    def acts(self) -> dict[str, Callable[[], None]]:
        """A census in slices."""
        return {"beside": self._sliced}

    def _sliced(self) -> None:
        self.client.census(max_pause_ms=PAUSE_MS)

    def _record(self, requests: int, *, baseline: bool) -> None:
        process = self.client.ping()["process"]
        sample = self.client.sample(settle=True)
        census = self.client.census(baseline=baseline)
        self.walk = {name: census[name] for name in ("objects", "containers", "seconds", "walker", "partial")}
        record = {"requests": requests, "process": process, "values": sample["values"], "census": census}
        self.records.append(record)

    def facts(self) -> dict[str, Any]:
        """The last census."""
        return {"walk": self.walk}


class CensusInChild(Census):
    """The same in the EngineCore child; the plugin has loaded the probe there."""

    child = True
