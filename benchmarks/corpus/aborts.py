# SPDX-License-Identifier: Apache-2.0
"""The real scheduler under bursts of long requests that are aborted after one step: memory that the allocator keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines import vllm_compat
from vllm_soak.engines.core import CoreEngine
from vllm_soak.engines.load import Finished


class AbortingEngine(CoreEngine):
    """The `core` driver; what one step leaves unfinished is aborted, as by a client that hangs up."""

    def __init__(self, model: str, engine_args: Mapping[str, Any]) -> None:
        super().__init__(model, engine_args)
        self._aborted = vllm_compat.imported("vllm.v1.request", "RequestStatus").FINISHED_ABORTED

    def step(self) -> list[Finished]:
        """Schedule one batch, then abort the rest of the burst."""
        done = [one for one in super().step() if one[2]]
        rest = list(self.scheduler.requests)
        self.scheduler.finish_requests(rest, self._aborted)
        return [*done, *((request_id, 0, True) for request_id in rest)]


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the scheduler and serve it until the controller says stop."""
    serve(AbortingEngine(arguments["model"], arguments.get("engine_args") or {}))
