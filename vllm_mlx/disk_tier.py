# SPDX-License-Identifier: Apache-2.0
"""`hybrid-disk-tier`: caches that cannot be cut back are not kept in memory when they are on disk.

The cache of a hybrid model can only be used again for the very prompt that it was made from, since a recurrent
state cannot be cut back to a shorter one. Upstream keeps a whole one in memory for each finished request, also
when checkpoints of it are written to disk (`kv_disk_checkpoint_interval`). Here it is let go then; caches of
pure attention, and engines without that tier, stay as they are. Changes upstream's `scheduler.py`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from typing import Any

from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target

LOGGER = logging.getLogger("vllm.vllm_soak")


def let_go(process: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Scheduler._process_batch_responses`, which leaves the cache of each finished request with it."""

    @functools.wraps(process)
    def processed(self: Any, responses: Any) -> Any:
        outputs, finished = process(self, responses)
        if tier_is_on(self):
            for request_id in finished:
                _let_go_of(self.running.get(request_id))
        return outputs, finished

    return processed


def tier_is_on(scheduler: Any) -> bool:
    """Whether checkpoints are written to disk."""
    return (getattr(scheduler.config, "kv_disk_checkpoint_interval", 0) or 0) > 0


def _let_go_of(request: Any) -> None:
    try:
        if not trimmable(getattr(request, "_extracted_cache", None) or ()):
            request._extracted_cache = None  # noqa: SLF001 - where upstream's store looks for it
    except Exception as error:  # noqa: BLE001 - it is kept then, as in upstream
        _complain_once(repr(error))


def trimmable(caches: Iterable[Any]) -> bool:
    """Whether every layer's cache can be cut back; what does not say counts as one that can."""
    return all(cache.is_trimmable() for cache in caches if hasattr(cache, "is_trimmable"))


@functools.cache
def _complain_once(reason: str) -> None:
    LOGGER.warning("vllm-soak: patch hybrid-disk-tier left a cache in memory: %s", reason)


def keeps_in_memory(scheduler: Any) -> bool:
    """Behaviour check: whether the tier is on and a prefix cache in memory has entries all the same."""
    caches = (getattr(scheduler, name, None) for name in ("prefix_cache", "memory_aware_cache"))
    return tier_is_on(scheduler) and any(cache is not None and len(cache) > 0 for cache in caches)


TARGETS = (
    Target(
        "vllm_mlx.scheduler:Scheduler._process_batch_responses",
        ("self", "responses"),
        let_go,
        table(
            {
                "5711268214d19a84": "0.9.13 0.10.0",
                "fbaaf8d670ba5b65": "0.10.18",
                "7965c2a9627fcb4d": "0.12.18 0.13.1",
                "1d45ab91e1cff198": "0.13.2",
                "ca283c6e0ba7181b": "0.13.4",
                "633d944198531427": "0.16.10",
            }
        ),
    ),
)
