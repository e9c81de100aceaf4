# SPDX-License-Identifier: Apache-2.0
"""`LLM()` under bursts of long requests of which most are aborted: memory that the allocator keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines import inproc, vllm_compat
from vllm_soak.engines.load import Finished


class AbortingEngine(inproc.InprocEngine):
    """The `inproc` driver; after one batch of a burst, what is still unfinished is aborted."""

    def __init__(self, llm: Any, model: str, wanted_block_size: int | None) -> None:
        super().__init__(llm, model, wanted_block_size)
        self._unfinished: dict[str, None] = {}

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Queue one request by its token ids."""
        super().submit(request_id, prompt, output_len)
        self._unfinished[request_id] = None

    def step(self) -> list[Finished]:
        """Run one batch, then abort the rest of the burst."""
        done = super().step()
        for request_id, _, _ in done:
            self._unfinished.pop(request_id, None)
        rest, self._unfinished = list(self._unfinished), {}
        self.llm.llm_engine.abort_request(rest)
        return [*done, *((request_id, 0, True) for request_id in rest)]


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the engine and serve it until the controller says stop."""
    model = arguments["model"]
    wanted = {**inproc.defaults(model), **(arguments.get("engine_args") or {})}
    llm = vllm_compat.imported("vllm", "LLM")(model=model, **inproc.fit_block_size(wanted))
    serve(AbortingEngine(llm, model, wanted.get("block_size")))
