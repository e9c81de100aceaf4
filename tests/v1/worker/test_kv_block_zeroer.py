# SPDX-License-Identifier: Apache-2.0
"""The `kv-block-zeroer` patch on vLLM's own classes, on every device there is."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.patching.apply import apply_selected, undo
from vllm_soak.patching.registry import KV_BLOCK_ZEROER
from vllm_soak.zeroing import route

WORKER = settings.get_profile("worker")
HEADS, HEAD = 2, 8
FILL = 3.0


def imported(name: str) -> Any:
    """A module of vLLM's worker, which wants the release's own torch; scheduler-only environments have another."""
    try:
        return importlib.import_module(name)
    except (ImportError, AttributeError) as error:
        pytest.skip(f"{name} cannot be imported here ({error})")


@pytest.fixture
def utils() -> Any:
    return imported("vllm.v1.worker.utils")


@pytest.fixture
def patched(utils: Any) -> Iterator[None]:
    if not hasattr(utils, "KVBlockZeroer"):
        pytest.skip("this release does not zero blocks")
    (status,) = (
        row for row in apply_selected({"VLLM_SOAK_PATCHES": "kv-block-zeroer"}) if row.name == "kv-block-zeroer"
    )
    assert status.status.value == "applied", status
    yield
    assert undo(KV_BLOCK_ZEROER) == []


def backend_of(blocks_first: bool) -> Any:
    """A backend of vLLM's own base class, with one of the two usual shapes."""
    from vllm.v1.attention.backend import AttentionBackend

    class Backend(AttentionBackend):
        @staticmethod
        def get_kv_cache_shape(
            num_blocks: int, block: int, heads: int, head: int, *_: Any, **__: Any
        ) -> tuple[int, ...]:
            return (num_blocks, 2, block, heads, head) if blocks_first else (2, num_blocks, block, heads, head)

    return Backend


def fitting(function: Any, **candidates: Any) -> Any:
    """Call with those of the arguments that this release's function has."""
    return function(**{name: candidates[name] for name in inspect.signature(function).parameters if name in candidates})


def layer(utils: Any, cache: torch.Tensor) -> Any:
    """As much of an attention layer as is looked at; up to 0.18 or so, caches are in a list."""
    in_a_list = "kv_cache[0]" in inspect.getsource(utils.KVBlockZeroer)
    return SimpleNamespace(kv_cache=[cache] if in_a_list else cache)


def make_zeroer(
    utils: Any, caches: list[torch.Tensor], blocks: int, kernel: int, ratio: int, blocks_first: bool
) -> Any:
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    spec = FullAttentionSpec(block_size=kernel * ratio, num_kv_heads=HEADS, head_size=HEAD, dtype=torch.float32)
    names = [f"layers.{at}" for at in range(len(caches))]
    group = utils.AttentionGroup(backend_of(blocks_first), names, spec, 0)
    arguments = {
        "device": caches[0].device,
        "pin_memory": False,
        "max_concurrency": 2,
        "attn_groups_iter": [group],
        "kernel_block_sizes": [kernel],
        "cache_dtype": "auto",
        "static_forward_context": {name: layer(utils, cache) for name, cache in zip(names, caches, strict=True)},
        "num_blocks": blocks,
        "runner_only_attn_layers": set(),
    }
    zeroer = fitting(utils.KVBlockZeroer, **arguments)
    if hasattr(zeroer, "init_meta"):
        fitting(zeroer.init_meta, **arguments)
    return zeroer


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("blocks_first", [True, False])
def test_the_gpu_zeroer_like_indexed_assignment(utils: Any, device: torch.device, blocks_first: bool) -> None:
    @settings(WORKER)
    @given(
        layers=st.integers(1, 4),
        blocks=st.integers(2, 9),  # of a pool of one block, upstream's table misses the V half
        kernel=st.sampled_from([1, 16, 33]),
        ratio=st.integers(1, 3),
        data=st.data(),
    )
    def check(layers: int, blocks: int, kernel: int, ratio: int, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.integers(0, blocks - 1), min_size=1, max_size=12))
        rows, inner = blocks * ratio, (kernel, HEADS, HEAD)
        shape = (rows, 2, *inner) if blocks_first else (2, rows, *inner)
        memory = torch.full((layers, *shape), FILL, device=device)
        wanted = memory.clone()
        touched = [block * ratio + at for block in ids for at in range(ratio)]
        if blocks_first:
            wanted[:, touched] = 0
        else:
            wanted[:, :, touched] = 0
        views = list(memory)
        if not blocks_first and "num_blocks" in inspect.signature(utils.KVBlockZeroer).parameters:
            views = [view.transpose(0, 1) for view in views]  # later releases show blocks first, whatever the memory
        zeroer = make_zeroer(utils, views, blocks, kernel, ratio, blocks_first)
        zeroer.zero_block_ids(ids)
        assert torch.equal(memory, wanted)
        assert KV_BLOCK_ZEROER.present(zeroer) is False

    check()


@pytest.fixture
def runner_class() -> Any:
    """The CPU runner, where this release's zeroes at all."""
    module = imported("vllm.v1.worker.cpu_model_runner")
    zero = vars(module.CPUModelRunner).get("_zero_block_ids")
    if zero is None or "zero_()" not in inspect.getsource(zero):
        pytest.skip("this release's CPU runner does not zero")
    return module.CPUModelRunner


def make_runner(runner_class: Any, caches: list[torch.Tensor]) -> Any:
    """A CPU runner with KV caches and nothing else: its construction needs a model."""
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

    names = [f"layers.{at}" for at in range(len(caches))]
    spec = FullAttentionSpec(block_size=16, num_kv_heads=HEADS, head_size=HEAD, dtype=torch.float32)
    config = {
        "num_blocks": caches[0].shape[0],
        "kv_cache_tensors": [],
        "kv_cache_groups": [KVCacheGroupSpec(names, spec)],
    }
    runner = runner_class.__new__(runner_class)
    runner.kv_cache_config = KVCacheConfig(**config)
    layers = {name: SimpleNamespace(kv_cache=cache) for name, cache in zip(names, caches, strict=True)}
    runner.compilation_config = SimpleNamespace(static_forward_context=layers)
    return runner


@pytest.mark.usefixtures("patched")
@given(blocks=st.integers(1, 9), layers=st.integers(1, 5), shared=st.booleans(), data=st.data())
@settings(WORKER)
def test_the_cpu_runner_like_its_own_loop(runner_class: Any, blocks: int, layers: int, shared: bool, data: Any) -> None:
    ids = data.draw(st.lists(st.integers(0, blocks - 1), max_size=12))
    memory = torch.full((layers, blocks, 2, 16, HEADS * HEAD), FILL)
    own = memory.clone()
    gap = data.draw(st.sampled_from([16, 12]))  # the latter leaves pages in pieces
    runners = [
        make_runner(runner_class, [part[..., :gap] for part in (*one, *([one[0]] * shared))]) for one in (memory, own)
    ]
    inspect.unwrap(runner_class._zero_block_ids)(runners[1], ids)
    runners[0]._zero_block_ids(ids)
    assert torch.equal(memory, own)
    assert route.is_routed(runners[0]) is bool(ids)


@pytest.mark.usefixtures("patched")
def test_other_caches_get_another_pool(runner_class: Any) -> None:
    first, second = torch.ones(4, 2, 16, 16), torch.ones(4, 2, 16, 16)
    runner = make_runner(runner_class, [first])
    runner._zero_block_ids([1])
    runner.compilation_config.static_forward_context["layers.0"].kv_cache = second
    runner._zero_block_ids([2])
    assert first.sum((1, 2, 3)).tolist() == [512, 0, 512, 512]
    assert second.sum((1, 2, 3)).tolist() == [512, 512, 0, 512]


@pytest.mark.usefixtures("patched")
def test_what_the_op_refuses_is_left_to_vllm(runner_class: Any) -> None:
    runner = make_runner(runner_class, [torch.ones(4, 2, 16, 16)])
    with pytest.raises(IndexError, match="out of bounds"):  # torch's own words
        runner._zero_block_ids([9])
    odd = torch.ones(4, 3, dtype=torch.int8)  # pages that are no whole words
    runner = make_runner(runner_class, [odd])
    runner._zero_block_ids([1])
    assert odd.sum(1).tolist() == [3, 0, 3, 3]


@pytest.mark.usefixtures("patched")
def test_without_the_library_vllm_does_the_work(
    runner_class: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from vllm_soak.zeroing import native

    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    native.load.cache_clear()
    cache = torch.ones(4, 2, 16, 16)
    runner = make_runner(runner_class, [cache])
    runner._zero_block_ids([1])
    native.load.cache_clear()
    assert cache.sum((1, 2, 3)).tolist() == [512, 0, 512, 512]
    assert KV_BLOCK_ZEROER.present(runner) is True


def test_off_by_default_and_on_by_name() -> None:
    status = {row.name: row for row in apply_selected({}, announce=False)}["kv-block-zeroer"]
    assert status.status.value == "disabled"
