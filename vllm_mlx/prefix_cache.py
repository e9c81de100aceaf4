# SPDX-License-Identifier: Apache-2.0
"""`prefix-cache-bytes`: the entry-count prefix cache accounts bytes, and obeys `cache_memory_mb`.

Upstream counts entries (100 by default), whatever their size; the limit in bytes is accepted and applied to the
other kind of cache only. Here each entry is measured when it is stored, the least recently used ones go until
what is left fits, and an entry that is larger than the limit is not stored. Evicted entries are dropped, not
emptied: a live request may still read one, and storage is free as soon as nobody does.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from vllm_soak.patches.vllm_mlx.prefix_ledger import LEDGER, Ledger, entries, ledger_of, own_buffers, resident_bytes
from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target

LOGGER = logging.getLogger("vllm.vllm_soak")


def with_limit(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap `Scheduler.__init__` to give its entry-count cache the limit that the settings ask for."""

    @functools.wraps(init)
    def limited(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        try:
            cache = getattr(self, "prefix_cache", None)
            if cache is not None:
                vars(cache)[LEDGER] = Ledger(_limit(self.config))
        except Exception as error:  # noqa: BLE001 - the engine goes on, with its own limit only
            _complain_once(f"no limit could be set ({error!r})")

    return limited


def _limit(config: Any) -> int:
    """Bytes; without `cache_memory_mb` the share of the memory that upstream allows the other kind of cache."""
    from vllm_mlx.memory_cache import MemoryCacheConfig

    share = config.cache_memory_percent
    return int(MemoryCacheConfig(config.cache_memory_mb, share).compute_memory_limit())


def within_limit(store: Callable[..., None]) -> Callable[..., None]:
    """Wrap `store_cache` to account what is stored, and to evict until it fits."""

    @functools.wraps(store)
    def accounted(self: Any, tokens: list[int], prompt_cache: list[Any]) -> None:
        ledger = ledger_of(self)
        size = _measured(prompt_cache) if ledger else 0
        if ledger and size > ledger.limit:
            ledger.too_large += 1
            return
        store(self, tokens, prompt_cache)
        if ledger and tokens:
            ledger.add(tokens, size)
            _fit(self, ledger)

    return accounted


def _measured(stored: Any) -> int:
    try:
        own_buffers(stored)
        return resident_bytes(stored)
    except Exception as error:  # noqa: BLE001 - a cache of an unknown kind counts as nothing
        _complain_once(f"an entry could not be measured ({error!r})")
        return 0


def _fit(cache: Any, ledger: Ledger) -> None:
    try:
        while ledger.total > ledger.limit and cache._lru:  # noqa: SLF001 - upstream's own order of use
            cache._evict_lru()  # noqa: SLF001 - upstream's own eviction, which counts it
    except Exception as error:  # noqa: BLE001 - the entry stays, as it would in upstream
        _complain_once(f"entries could not be evicted ({error!r})")


def struck_out(delete: Callable[..., None]) -> Callable[..., None]:
    """Wrap `_delete_cache`, through which every eviction goes."""

    @functools.wraps(delete)
    def deleted(self: Any, model_key: Any, tokens: list[int]) -> None:
        delete(self, model_key, tokens)
        if ledger := ledger_of(self):
            ledger.drop(tokens)

    return deleted


def emptied(clear: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `clear`."""

    @functools.wraps(clear)
    def cleared(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = clear(self, *args, **kwargs)
        if (ledger := ledger_of(self)) and not len(self):
            ledger.clear()
        return found

    return cleared


def with_bytes(get_stats: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Wrap `get_stats` to tell bytes as well."""

    @functools.wraps(get_stats)
    def told(self: Any) -> dict[str, Any]:
        found = get_stats(self)
        if ledger := ledger_of(self):
            found |= {"bytes": ledger.total, "limit_bytes": ledger.limit, "too_large": ledger.too_large}
        return found

    return told


@functools.cache
def _complain_once(reason: str) -> None:
    LOGGER.warning("vllm-soak: patch prefix-cache-bytes: %s", reason)


def exceeds_limit(scheduler: Any) -> bool:
    """Behaviour check: whether an entry-count cache holds more bytes than `cache_memory_mb` allows."""
    cache = scheduler.prefix_cache
    held = resident_bytes(list(entries(cache._cache)))  # noqa: SLF001 - there is no public view
    return held > _limit(scheduler.config)


_RAPID = "0.9.13 0.10.0 0.10.18 0.12.18 0.13.1 0.13.2 0.13.4 0.16.10"
_MLX_OLD, _MLX_NEW = "0.2.7 0.2.8 0.2.9", "0.3.0 0.4.0 0.4.1 0.5.0 0.6.0"
_MANAGER = "vllm_mlx.prefix_cache:PrefixCacheManager"
TARGETS = (
    Target(
        "vllm_mlx.scheduler:Scheduler.__init__",
        ("self", "model", "tokenizer", "config"),
        with_limit,
        table(
            {
                "44ed76538cc92569": "0.9.13 0.10.0",
                "5ba7f034f997c0ef": "0.10.18",
                "0b0f4c332301b7e0": "0.12.18",
                "e86bbe2140f7ca31": "0.13.1",
                "efa14217ab9273aa": "0.13.2",
                "06e46b78119cbdea": "0.13.4",
                "87ae3c7cc878b475": "0.16.10",
                "da694aa2214369e0": "0.2.7",
                "12f47c62b8638c76": "0.2.8",
                "d01ddb8a6e2454b3": "0.2.9",
                "45ac7acbcfc6b711": "0.3.0 0.4.0",
                "6b8070e77e8b40f3": "0.4.1",
                "bbf037b42ead5d84": "0.5.0 0.6.0",
            }
        ),
    ),
    Target(
        f"{_MANAGER}.store_cache",
        ("self", "tokens", "prompt_cache"),
        within_limit,
        table({"3b8669c1e682d9fc": _RAPID, "c48224db4996c59a": _MLX_OLD, "eb284332acd7d894": _MLX_NEW}),
    ),
    Target(
        f"{_MANAGER}._delete_cache",
        ("self", "model_key", "tokens"),
        struck_out,
        table({"0bdfa03f90ae681e": _RAPID, "174fee471e31ade5": f"{_MLX_OLD} {_MLX_NEW}"}),
    ),
    Target(
        f"{_MANAGER}.clear",
        ("self",),
        emptied,
        table(
            {
                "ddcd0fe1b2ed337b": "0.9.13 0.10.0 0.10.18",
                "6d72fa0b9a7fdd42": "0.12.18 0.13.1 0.13.2 0.13.4 0.16.10",
                "ea77dc6d43eaabad": f"{_MLX_OLD} {_MLX_NEW}",
            }
        ),
    ),
    Target(
        f"{_MANAGER}.get_stats",
        ("self",),
        with_bytes,
        table({"3b3494f628c275b3": _RAPID, "669c0c60753e398b": f"{_MLX_OLD} {_MLX_NEW}"}),
    ),
)
