# SPDX-License-Identifier: Apache-2.0
"""`LLM()` with batches of 1, 2, ... 256 tokens in turn: native kernels that keep something for each new shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines import inproc, vllm_compat

MOST_TOKENS = 256


class ShapesEngine(inproc.InprocEngine):
    """The `inproc` driver; one request is a batch (`max_concurrency` 1), each a token longer than the one before."""

    _sent = 0

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Queue one request of the next length."""
        super().submit(request_id, prompt[: self._sent % MOST_TOKENS + 1], output_len)
        self._sent += 1


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the engine and serve it until the controller says stop."""
    model = arguments["model"]
    wanted = {**inproc.defaults(model), **(arguments.get("engine_args") or {})}
    llm = vllm_compat.imported("vllm", "LLM")(model=model, **inproc.fit_block_size(wanted))
    serve(ShapesEngine(llm, model, wanted.get("block_size")))
