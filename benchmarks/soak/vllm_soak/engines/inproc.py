# SPDX-License-Identifier: Apache-2.0
"""The `inproc` driver: a whole `LLM()` in this process, driven through its `llm_engine`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vllm_soak.engines import vllm_compat
from vllm_soak.engines.facts import engine_facts
from vllm_soak.engines.layers import read_config
from vllm_soak.engines.load import Finished

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".gguf")
# Kernels of these families exist in half precision only, on a CPU too.
HALF_PRECISION = ("gemma3_text", "lfm2")


class InprocEngine:
    """An `LLM` with the interface of a driver.

    Args:
        llm: The engine.
        model: What it was made from.
        wanted_block_size: What was asked for, in tokens, or None.
    """

    def __init__(self, llm: Any, model: str, wanted_block_size: int | None) -> None:
        self.llm = llm
        self.model = model
        self.wanted_block_size = wanted_block_size
        self._params_class = vllm_compat.imported("vllm", "SamplingParams")

    @property
    def vocab_size(self) -> int:
        """Size of the model's vocabulary."""
        return int(self.llm.llm_engine.model_config.get_vocab_size())

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Queue one request by its token ids."""
        params = self._params_class(max_tokens=output_len, ignore_eos=True, temperature=0.0, detokenize=False)
        self.llm.llm_engine.add_request(request_id, {"prompt_token_ids": prompt}, params)

    def step(self) -> list[Finished]:
        """Run one batch; tokens are counted when a request finishes."""
        return [
            (output.request_id, sum(len(part.token_ids) for part in output.outputs), True)
            for output in self.llm.llm_engine.step()
            if output.finished
        ]

    def busy(self) -> bool:
        """Whether a request is unfinished, or a finished one has not been told to the workers yet."""
        core = vllm_compat.inproc_core(self.llm)
        return bool(core.scheduler.has_requests() if core else self.llm.llm_engine.has_unfinished_requests())

    def facts(self) -> dict[str, Any]:
        """What the engine was built with."""
        core = vllm_compat.inproc_core(self.llm)
        config = self.llm.llm_engine.vllm_config
        wanted = self.wanted_block_size or config.cache_config.block_size
        return engine_facts("inproc", self.model, wanted, config, core.scheduler if core else None)


def has_weights(model: str) -> bool:
    """Whether a model folder holds weights; an id of a hub is taken to have them."""
    folder = Path(model)
    return not folder.is_dir() or any(entry.suffix in WEIGHT_SUFFIXES for entry in folder.iterdir())


def defaults(model: str) -> dict[str, Any]:
    """Engine arguments for a folder without weights: a tiny model built for the soak."""
    if has_weights(model):
        return {}

    half = read_config(model).get("model_type") in HALF_PRECISION
    return {
        "load_format": "dummy",
        "dtype": "bfloat16" if half else "float32",
        "enforce_eager": True,
        "max_model_len": 2048,
        "num_gpu_blocks_override": 2000,
        "block_size": 16,
    }


def fit_block_size(arguments: dict[str, Any]) -> dict[str, Any]:
    """Raise the block size to what this release's CPU attention takes."""
    wanted = arguments.get("block_size")
    if wanted is None or not vllm_compat.cpu_platform():
        return arguments
    least = vllm_compat.least_block_size()
    return {**arguments, "block_size": -(-int(wanted) // least) * least}


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the engine and serve it until the controller says stop."""
    model = arguments["model"]
    wanted = {**defaults(model), **(arguments.get("engine_args") or {})}
    llm = vllm_compat.imported("vllm", "LLM")(model=model, **fit_block_size(wanted))
    serve(InprocEngine(llm, model, wanted.get("block_size")))
