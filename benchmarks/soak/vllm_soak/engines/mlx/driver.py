# SPDX-License-Identifier: Apache-2.0
"""The `inproc` driver of the engines on mlx: their Scheduler, Request and step() in this process."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vllm_soak.engines.load import Finished
from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.scheduler import make_scheduler, module, prefix_cache
from vllm_soak.sampling.source import register

DISTRIBUTIONS = ("rapid-mlx", "vllm-mlx")
# Metal compiles on its own; on a CPU mlx would call a C++ compiler at run time.
COMPILE = "MLX_DISABLE_COMPILE"


class MlxEngine:
    """A scheduler with the loop of the engine core around it.

    Args:
        model: Model folder.
        engine_args: Fields of the engine's `SchedulerConfig`.
    """

    package = "vllm_mlx"

    def __init__(self, model: str, engine_args: Mapping[str, Any]) -> None:
        self.model = model
        self.scheduler = make_scheduler(Path(model), engine_args)
        request = module("request")
        self._request_class, self._params_class = request.Request, request.SamplingParams
        known = {field.name for field in dataclasses.fields(self._params_class)}
        self._params = {"temperature": 0.0, **({"ignore_eos": True} if "ignore_eos" in known else {})}
        self._replies: dict[str, list[int]] = {}
        register(lambda: observe(self.scheduler, collect=False))
        self.steps = 0

    @property
    def vocab_size(self) -> int:
        """Size of the tokenizer's vocabulary."""
        return int(self.scheduler.tokenizer.vocab_size)

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Queue one request, decoded greedily."""
        params = self._params_class(max_tokens=output_len, **self._params)
        self.scheduler.add_request(
            self._request_class(request_id=request_id, prompt=list(prompt), sampling_params=params)
        )

    def step(self) -> list[Finished]:
        """Run one step; a finished request is dropped from the scheduler, as the engine core does.

        Raises:
            RuntimeError: The engine gave a request up.
        """
        self.steps += 1
        return [self._told(output) for output in self.scheduler.step().outputs]

    def _told(self, output: Any) -> Finished:
        if getattr(output, "error", None):
            raise RuntimeError(f"the engine gave up {output.request_id}: {output.error}")
        if output.finished:
            self._replies[output.request_id] = list(output.output_token_ids)
            self.scheduler.remove_finished_request(output.request_id)
        return output.request_id, len(output.new_token_ids), bool(output.finished)

    def reply(self, request_id: str) -> list[int]:
        """The tokens of a finished request; they are forgotten with this."""
        return self._replies.pop(request_id, [])

    def busy(self) -> bool:
        """Whether a request is unfinished."""
        return bool(self.scheduler.has_requests())

    def facts(self) -> dict[str, Any]:
        """What the engine was built with."""
        import mlx.core as mx

        name, version = distribution()
        cache = prefix_cache(self.scheduler)
        return {
            "name": name,
            "version": version,
            "python": platform.python_version(),
            "mlx": importlib.metadata.version("mlx"),
            "mlx_lm": importlib.metadata.version("mlx-lm"),
            "driver": "inproc",
            "model": self.model,
            "device": "gpu" if mx.metal.is_available() else "cpu",
            "pid": os.getpid(),
            "vocab_size": self.vocab_size,
            "scheduler": type(self.scheduler).__name__,
            "prefix_cache": type(cache).__name__ if cache is not None else "",
            "spec_decode": str(getattr(self.scheduler.config, "spec_decode", "none")),
        }


def distribution() -> tuple[str, str]:
    """Name and version of the engine that is installed here.

    Raises:
        RuntimeError: None is.
    """
    installed = {name: found for name in DISTRIBUTIONS if (found := installed_version(name))}
    if installed:
        return next(iter(installed.items()))
    raise RuntimeError(f"none of {', '.join(DISTRIBUTIONS)} is installed here")


def installed_version(name: str) -> str:
    """Version of a distribution, or an empty string."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the engine and serve it until the controller says stop."""
    os.environ.setdefault(COMPILE, "1")
    engine = MlxEngine(arguments["model"], arguments.get("engine_args") or {})
    serve(engine)
