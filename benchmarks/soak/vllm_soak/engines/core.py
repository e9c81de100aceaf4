# SPDX-License-Identifier: Apache-2.0
"""The `core` driver: vLLM's own scheduler and KV-cache managers, without a model.

Requests are real, hashed in blocks, cached, scheduled and freed as in the engine core; only the model
runner is missing, and its output is made up. Thousands of requests a second pass through it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines import layers, vllm_compat
from vllm_soak.engines.facts import engine_facts
from vllm_soak.engines.load import Finished

# A step that schedules nothing while requests wait happens now and then; this many in a row never end.
MOST_EMPTY_STEPS = 1000
DEFAULTS: dict[str, Any] = {
    "block_size": 16,
    "num_gpu_blocks_override": 2000,
    "max_model_len": 2048,
    "dtype": "float32",
    "load_format": "dummy",
    "enforce_eager": True,
    "skip_tokenizer_init": True,
    # The default concurrency fits into one batch: 64 prompts of 220 tokens.
    "max_num_batched_tokens": 16384,
}


class CoreEngine:
    """A scheduler with the loop of an engine core around it.

    Args:
        model: Model folder; only its `config.json` is read.
        engine_args: Fields of vLLM's `EngineArgs`, over `DEFAULTS`.
    """

    def __init__(self, model: str, engine_args: Mapping[str, Any]) -> None:
        shape = layers.read_config(model)
        vllm_compat.mend_torch()
        vllm_compat.register_shell(shape.get("architectures") or ())
        self.model = model
        arguments = {**DEFAULTS, **hybrid_defaults(shape), "model": model, **engine_args}
        self.block_size = int(arguments["block_size"])
        self.vllm_config = vllm_compat.engine_config(arguments)
        specs = layers.layer_specs(
            shape,
            block_size=self.vllm_config.cache_config.block_size,
            max_model_len=self.vllm_config.model_config.max_model_len,
            dtype=self.vllm_config.model_config.dtype,
        )
        kv_config = vllm_compat.kv_cache_config(self.vllm_config, specs)
        self.scheduler = vllm_compat.make_scheduler(self.vllm_config, kv_config)
        self.block_hasher = vllm_compat.block_hasher(self.vllm_config, kv_config)
        self._request_class = vllm_compat.imported("vllm.v1.request", "Request")
        self._more = vllm_compat.accepted(self._request_class, {"eos_token_id": None})  # required up to 0.16.0
        self._output_class = vllm_compat.imported("vllm.v1.outputs", "ModelRunnerOutput")
        self._params_class = vllm_compat.imported("vllm", "SamplingParams")
        self._longest = int(self.vllm_config.model_config.max_model_len)
        self._empty_steps = 0
        vllm_compat.freeze_heap()

    @property
    def vocab_size(self) -> int:
        """Size of the model's vocabulary."""
        return int(self.vllm_config.model_config.get_vocab_size())

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Add one request to the scheduler's queue.

        Raises:
            ValueError: No token could be generated for the prompt: the scheduler itself does not check, the front
                end of a whole engine does.
        """
        if len(prompt) >= self._longest:
            raise ValueError(f"the prompt (length {len(prompt)}) leaves no room in max_model_len {self._longest}")
        self.scheduler.add_request(
            self._request_class(
                request_id=request_id,
                prompt_token_ids=prompt,
                sampling_params=self._params_class(max_tokens=output_len, ignore_eos=True, temperature=0.0),
                pooling_params=None,
                block_hasher=self.block_hasher,
                **self._more,
            )
        )

    def step(self) -> list[Finished]:
        """Schedule one batch, pretend to run it, and give the scheduler its tokens.

        Raises:
            RuntimeError: The scheduler admits nothing although requests wait.
        """
        scheduled = self.scheduler.schedule()
        self._watch(scheduled.total_num_scheduled_tokens)
        outputs = self.scheduler.update_from_output(scheduled, self._run_model(list(scheduled.num_scheduled_tokens)))
        return [
            (output.request_id, len(output.new_token_ids), output.finish_reason is not None)
            for client in outputs.values()
            for output in client.outputs
        ]

    def busy(self) -> bool:
        """Whether a request is unfinished, or a finished one has not been told to the workers yet."""
        return bool(self.scheduler.has_requests())

    def facts(self) -> dict[str, Any]:
        """What the scheduler was built with."""
        return engine_facts("core", self.model, self.block_size, self.vllm_config, self.scheduler)

    def _run_model(self, request_ids: list[str]) -> Any:
        """One token for each request whose prompt is complete, none for a part of a prompt."""
        requests = self.scheduler.requests
        tokens = []
        for request_id in request_ids:
            request = requests[request_id]
            tokens.append([0] if request.num_computed_tokens >= request.num_tokens else [])
        index = {request_id: place for place, request_id in enumerate(request_ids)}
        return self._output_class(req_ids=request_ids, req_id_to_index=index, sampled_token_ids=tokens)

    def _watch(self, scheduled_tokens: int) -> None:
        waits = scheduled_tokens == 0 and self.scheduler.has_unfinished_requests()
        self._empty_steps = self._empty_steps + 1 if waits else 0
        if self._empty_steps > MOST_EMPTY_STEPS:
            raise RuntimeError("the scheduler admits no request: a prompt does not fit into the KV cache")


def hybrid_defaults(shape: Mapping[str, Any]) -> dict[str, Any]:
    """Prefix caching off for models with state layers, as releases have it for them by default."""
    return {"enable_prefix_caching": "mamba" not in layers.layer_kinds(dict(shape))}


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the engine and serve it until the controller says stop."""
    engine = CoreEngine(arguments["model"], arguments.get("engine_args") or {})
    serve(engine)
