# SPDX-License-Identifier: Apache-2.0
"""Real schedulers over made-up KV-cache groups, and streams of operations to drive them with."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from vllm_soak.engines import vllm_compat
from vllm_soak.patching.apply import undo
from vllm_soak.patching.engine import installed_release
from vllm_soak.patching.registry import NEW_BLOCK_IDS

# Where this package is installed, making a config would load it as a plugin and patch behind our back.
os.environ["VLLM_PLUGINS"] = ""
vllm_compat.mend_torch()  # an old release may run on a newer torch here

BLOCK = 16
LONGEST = 256  # tokens, of the model in ../conftest.py too
DRAFTS = 3

# The affected release in widest use is searched in depth; others differ from it by little code.
SEARCHED = "0.25.1"

settings.register_profile(
    "engine",
    deadline=None,
    max_examples=100 if installed_release("vllm") == SEARCHED else 25,
    derandomize=True,
    phases=(Phase.generate, Phase.shrink),  # explaining a failure takes minutes here
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("engine")

# Operations of a stream: ("add", prompt family, prompt length, output length), ("abort", which),
# ("step", drafts, accepted of them). Prompts of one family share their prefix.
Op = tuple[Any, ...]
OPS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 3), st.integers(1, 150), st.integers(1, 40)),
    st.tuples(st.just("abort"), st.integers(0, 7)),
    st.tuples(st.just("step"), st.integers(0, DRAFTS), st.integers(0, DRAFTS)),
    st.tuples(st.just("step"), st.just(0), st.just(0)),
)
STREAMS = st.lists(OPS, min_size=10, max_size=60)


@pytest.fixture(autouse=True)
def _unpatched_afterwards() -> Iterator[None]:
    yield
    assert undo(NEW_BLOCK_IDS) == []


@pytest.fixture(scope="session")
def streams() -> st.SearchStrategy[list[Op]]:
    return STREAMS


@pytest.fixture(scope="session")
def engine_config(model: str) -> Callable[..., Any]:
    """Make (once each) the config of a synchronous engine, with speculation where `drafts` asks for it."""
    made: dict[tuple[bool, bool], Any] = {}

    def make(*, caching: bool, drafts: bool) -> Any:
        if (caching, drafts) not in made:
            made[caching, drafts] = vllm_compat.engine_config(
                {
                    "model": model,
                    "block_size": BLOCK,
                    "max_model_len": LONGEST,
                    "max_num_seqs": 6,
                    "max_num_batched_tokens": 96,
                    "enable_chunked_prefill": True,
                    "enable_prefix_caching": caching,
                    "enforce_eager": True,
                    "load_format": "dummy",
                    "dtype": "float32",
                    "skip_tokenizer_init": True,
                    "async_scheduling": False,
                    "speculative_config": SPECULATION if drafts else None,
                }
            )
        return made[caching, drafts]

    return make


SPECULATION = {"method": "ngram", "num_speculative_tokens": DRAFTS, "prompt_lookup_max": 2}


def _spec(kind: str, mamba_mode: str) -> Any:
    interface = importlib.import_module("vllm.v1.kv_cache_interface")
    attention = {"block_size": BLOCK, "num_kv_heads": 1, "head_size": 8, "dtype": torch.float32}
    if kind == "full":
        return interface.FullAttentionSpec(**attention)
    if kind == "mla":
        return interface.MLAAttentionSpec(**attention)
    if kind == "sliding":
        return interface.SlidingWindowSpec(**attention, sliding_window=2 * BLOCK)
    return interface.MambaSpec(
        block_size=LONGEST if mamba_mode == "none" else BLOCK,
        shapes=((256,),),
        dtypes=(torch.float32,),
        mamba_cache_mode=mamba_mode,
        num_speculative_blocks=DRAFTS,
    )


@pytest.fixture(scope="session")
def make_scheduler(engine_config: Callable[..., Any]) -> Callable[..., Any]:
    """Build the release's own scheduler, and a request hasher, over groups such as `["full", "mamba"]`."""
    interface = importlib.import_module("vllm.v1.kv_cache_interface")
    managers = importlib.import_module("vllm.v1.core.single_type_kv_cache_manager")

    def make(groups: Iterable[str], *, blocks: int, caching: bool = True, drafts: bool = True) -> Any:
        config = engine_config(caching=caching, drafts=drafts)
        if hasattr(managers, "register_all_kvcache_specs"):
            managers.register_all_kvcache_specs(config)
        mode = "align" if caching else "none"
        config.cache_config.mamba_cache_mode = mode
        config.cache_config.num_gpu_blocks = blocks
        members = [
            interface.KVCacheGroupSpec([f"layer.{index}"], _spec(kind, mode)) for index, kind in enumerate(groups)
        ]
        kv_config = interface.KVCacheConfig(blocks, [], members)
        scheduler = vllm_compat.make_scheduler(config, kv_config)
        return scheduler, vllm_compat.block_hasher(config, kv_config)

    return make


@dataclasses.dataclass
class Driver:
    """A scheduler under a stream of operations, with a made-up model runner."""

    scheduler: Any
    hasher: Any
    added: int = 0
    left: list[int] = dataclasses.field(default_factory=list)  # ids recorded after each schedule()

    def run(self, stream: Iterable[Op]) -> list[Any]:
        """Apply each operation; give what every `schedule()` returned, as plain data.

        An engine's own assertion ends the stream, and is the last thing seen: 0.18.0 has one that
        speculation on aligned Mamba groups can trip.
        """
        seen: list[Any] = []
        try:
            for name, *arguments in stream:
                found = getattr(self, name)(*arguments)
                if found is not None:
                    seen.append(found)
        except AssertionError as error:
            seen.append(f"{type(error).__name__}: {error}")
        return seen

    def add(self, family: int, length: int, output: int) -> None:
        request_class = vllm_compat.imported("vllm.v1.request", "Request")
        params_class = vllm_compat.imported("vllm", "SamplingParams")
        self.scheduler.add_request(
            request_class(
                request_id=f"r{self.added}",
                prompt_token_ids=[(family * 131 + 7 * place) % 500 for place in range(length)],
                sampling_params=params_class(max_tokens=output, ignore_eos=True, temperature=0.0),
                pooling_params=None,
                arrival_time=float(self.added),
                block_hasher=self.hasher,
            )
        )
        self.added += 1

    def abort(self, which: int) -> None:
        alive = list(self.scheduler.requests)
        if alive:
            status = vllm_compat.imported("vllm.v1.request", "RequestStatus").FINISHED_ABORTED
            self.scheduler.finish_requests(alive[which % len(alive)], status)

    def step(self, drafts: int = 0, accepted: int = 0) -> dict[str, Any]:
        scheduled = self.scheduler.schedule()
        self.left.append(self.recorded())
        seen: dict[str, Any] = plain(scheduled)
        self.scheduler.update_from_output(scheduled, self._outputs(scheduled, accepted))
        self._propose(drafts)
        return seen

    def _outputs(self, scheduled: Any, accepted: int) -> Any:
        ids = list(scheduled.num_scheduled_tokens)
        tokens = []
        for name in ids:
            request = self.scheduler.requests[name]
            complete = request.num_computed_tokens >= request.num_tokens
            proposed = len(scheduled.scheduled_spec_decode_tokens.get(name, ()))
            tokens.append([3] * (1 + min(accepted, proposed)) if complete else [])
        output_class = vllm_compat.imported("vllm.v1.outputs", "ModelRunnerOutput")
        index = {name: place for place, name in enumerate(ids)}
        return output_class(req_ids=ids, req_id_to_index=index, sampled_token_ids=tokens)

    def _propose(self, drafts: int) -> None:
        if not drafts or not self.scheduler.num_spec_tokens:
            return
        draft_class = vllm_compat.imported("vllm.v1.outputs", "DraftTokenIds")
        running = [request.request_id for request in self.scheduler.running]
        self.scheduler.update_draft_token_ids(draft_class(running, [[5] * drafts for _ in running]))

    def recorded(self) -> int:
        """Ids that lie in the managers' lists; 0.17.0 has no such lists."""
        managers = self.scheduler.kv_cache_manager.coordinator.single_type_managers
        return sum(len(getattr(manager, "new_block_ids", ())) for manager in managers)


def plain(value: Any) -> Any:
    """A scheduler's output as data that compares by value, with every field of it."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, int | float | str | set):
        return value
    return repr(value)


@pytest.fixture(scope="session")
def make_driver(make_scheduler: Callable[..., Any]) -> Callable[..., Driver]:
    def make(groups: Iterable[str], **options: Any) -> Driver:
        return Driver(*make_scheduler(groups, **options))

    return make
