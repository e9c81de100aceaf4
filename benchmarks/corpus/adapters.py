# SPDX-License-Identifier: Apache-2.0
"""The engine's real output processor, fed with requests for ever new LoRA adapters; no model is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines import vllm_compat
from vllm_soak.engines.load import Finished

STATS = "vllm.v1.metrics.stats"
ENGINE = "vllm.v1.engine"


class AdaptersEngine:
    """An output processor with the interface of a driver; each request names an adapter of its own."""

    vocab_size = 512

    def __init__(self) -> None:
        self.output_processor = vllm_compat.imported("vllm.v1.engine.output_processor", "OutputProcessor")(
            None, log_stats=True
        )
        self._waiting: list[str] = []
        self._adapters = 0
        self._request_class = vllm_compat.imported(ENGINE, "EngineCoreRequest")
        self._adapter_class = vllm_compat.imported("vllm.lora.request", "LoRARequest")
        self._params_class = vllm_compat.imported("vllm", "SamplingParams")

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Tell the processor of one request, as the engine's front end does."""
        self._adapters += 1
        adapter = self._adapter_class(f"adapter-{self._adapters}", self._adapters, "/nonexistent")
        wanted = {
            "request_id": request_id,
            "prompt_token_ids": prompt,
            "sampling_params": self._params_class(max_tokens=output_len, detokenize=False),
            "arrival_time": 0.0,
            "lora_request": adapter,
        }
        absent = dict.fromkeys(("mm_features", "pooling_params", "eos_token_id", "cache_salt", "data_parallel_rank"))
        self.output_processor.add_request(self._request_class(**{**absent, **wanted}), None)
        self._waiting.append(request_id)

    def step(self) -> list[Finished]:
        """Hand the processor one token, the last, of every request."""
        done, self._waiting = self._waiting, []
        statistics = vllm_compat.imported(STATS, "IterationStats")()
        self.output_processor.process_outputs([self._output(name) for name in done], 1.0, statistics)
        return [(name, 1, True) for name in done]

    def busy(self) -> bool:
        """Whether a request waits for its token."""
        return bool(self._waiting)

    def facts(self) -> dict[str, Any]:
        """Which engine this is of."""
        name, version = vllm_compat.distribution()
        return {"name": name, "version": version, "python": vllm_compat.python_version(), "driver": "adapters"}

    def _output(self, request_id: str) -> Any:
        kinds = vllm_compat.imported(ENGINE, "EngineCoreEventType")
        event = vllm_compat.imported(ENGINE, "EngineCoreEvent")
        return vllm_compat.imported(ENGINE, "EngineCoreOutput")(
            request_id=request_id,
            new_token_ids=[1],
            finish_reason=vllm_compat.imported(ENGINE, "FinishReason").LENGTH,
            events=[event(kind, 1.0) for kind in (kinds.QUEUED, kinds.SCHEDULED)],
        )


def run(_arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the processor and serve it until the controller says stop."""
    vllm_compat.mend_torch()
    serve(AdaptersEngine())
