# SPDX-License-Identifier: Apache-2.0
"""`batch-lists`: per-request lists of mlx-lm's generation batch end with their request.

`GenerationBatch.filter` cuts all lists of a batch to the requests that stay, but two of them only when one of
their entries is set. Requests without samplers or logits processors of their own, which is most of them, hence
leave an entry in each list behind: 65 bytes a request, and lists that no longer match their requests.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target

LOGGER = logging.getLogger("vllm.vllm_soak")
_LISTS = ("samplers", "logits_processors")


def cut_all(cut: Callable[..., None]) -> Callable[..., None]:
    """Wrap `GenerationBatch.filter` to cut the two lists also when nothing is set in them."""

    @functools.wraps(cut)
    def filtered(self: Any, keep: list[int]) -> None:
        cut(self, keep)
        for name in _LISTS:
            _cut(self, name)

    return filtered


def _cut(batch: Any, name: str) -> None:
    try:
        entries = getattr(batch, name)
        # Only entries that are not set are left over, so which ones go makes no difference.
        if len(entries) > len(batch.uids) and not any(entries):
            setattr(batch, name, entries[: len(batch.uids)])
    except Exception as error:  # noqa: BLE001 - the engine goes on whatever is wrong with us
        _complain_once(f"{name} could not be cut ({error!r})")


@functools.cache
def _complain_once(reason: str) -> None:
    LOGGER.warning("vllm-soak: patch batch-lists: %s", reason)


def keeps_entries(scheduler: Any) -> bool:
    """Behaviour check: whether a batch has more entries than requests."""
    batch = scheduler.batch_generator._generation_batch  # noqa: SLF001 - there is no public view
    return any(len(getattr(batch, name)) > len(batch.uids) for name in _LISTS)


TARGETS = (
    Target(
        "mlx_lm.generate:GenerationBatch.filter",
        ("self", "keep"),
        cut_all,
        table(
            {
                "b41376a7bc14e4ac": "0.4.0 0.4.1 0.5.0 0.6.0 0.9.13 0.10.0 0.10.18 0.12.18 0.13.1 0.13.2 0.13.4 0.16.10"
            }  # mlx-lm 0.31.3
        ),
    ),
)
