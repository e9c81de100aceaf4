# SPDX-License-Identifier: Apache-2.0
"""Runs inside an engine's interpreter: serves a model, and watches every zeroing of its KV blocks.

Right before vLLM's runner zeroes new blocks, they are filled with a pattern; right after, nothing in
the caches may differ from before but these blocks, which must be zero. Serves the same requests twice,
with the patch and after undoing it, and prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

PATTERN = 0x55


def caches(runner: Any) -> list[Any]:
    """The full-attention layers' caches as the engine's own loop finds them, as bytes."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    layers = runner.compilation_config.static_forward_context
    found = {}
    for group in runner.kv_cache_config.kv_cache_groups:
        if isinstance(group.kv_cache_spec, FullAttentionSpec):
            for name in group.layer_names:
                found[layers[name].kv_cache.data_ptr()] = layers[name].kv_cache.view(torch.int8)
    return list(found.values())


def capture(runners: list[Any]) -> None:
    """Note every runner that is made."""
    from vllm.v1.worker.cpu_model_runner import CPUModelRunner

    init = CPUModelRunner.__init__

    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        runners.append(self)

    CPUModelRunner.__init__ = noting


def watch(runner: Any, seen: dict[str, int]) -> None:
    """Put the checks before this runner's zeroing, whatever its class has there at the time."""

    def watched(block_ids: list[int]) -> None:
        wanted = []
        for cache in caches(runner):
            wanted.append(cache.clone())
            wanted[-1][block_ids] = 0
            cache[block_ids] = PATTERN
        type(runner)._zero_block_ids(runner, block_ids)
        seen["calls"] += 1
        seen["blocks"] += len(block_ids)
        for cache, right in zip(caches(runner), wanted, strict=True):
            seen["wrong_bytes"] += int((cache != right).sum())
            seen["checked_bytes"] += cache[block_ids].numel()
        seen["routed"] += is_routed(runner)

    runner._zero_block_ids = watched


def is_routed(runner: Any) -> bool:
    from vllm_soak.zeroing import route

    return route.is_routed(runner)


def serve(llm: Any, runner: Any) -> dict[str, Any]:
    """One round of the same requests."""
    from vllm import SamplingParams

    seen = dict.fromkeys(("calls", "blocks", "wrong_bytes", "checked_bytes", "routed"), 0)
    watch(runner, seen)
    draw = random.Random(3)
    prompts = [{"prompt_token_ids": [draw.randrange(500) for _ in range(draw.randrange(5, 200))]} for _ in range(24)]
    params = SamplingParams(temperature=0.0, max_tokens=40, ignore_eos=True, detokenize=False, logprobs=2)
    outputs = [output.outputs[0] for output in llm.generate(prompts, params, use_tqdm=False)]
    tokens = [list(output.token_ids) for output in outputs]
    chances = [
        [round(top[token].logprob, 6) for token, top in zip(o.token_ids, o.logprobs, strict=True)] for o in outputs
    ]
    return {"seen": seen, "tokens": tokens, "chances": chances, "status": status()}


def status() -> str:
    from vllm_soak.patching.status import report

    return {row["name"]: row["status"] for row in report()}["kv-block-zeroer"]


def main() -> None:
    from vllm import LLM

    runners: list[Any] = []
    capture(runners)
    llm = LLM(
        model=sys.argv[1],
        load_format="dummy",
        dtype="bfloat16",
        enforce_eager=True,
        max_model_len=512,
        num_gpu_blocks_override=160,
        skip_tokenizer_init=True,
        enable_prefix_caching=False,
        seed=1,
    )
    from vllm_soak.patching.apply import undo
    from vllm_soak.patching.registry import by_name
    from vllm_soak.zeroing.route import forget

    patched = serve(llm, runners[0])
    left = undo(by_name("kv-block-zeroer"))
    forget(runners[0])
    upstream = serve(llm, runners[0])
    print("RESULT " + json.dumps({"patched": patched, "upstream": upstream, "left": left}), flush=True)


if __name__ == "__main__":
    main()
