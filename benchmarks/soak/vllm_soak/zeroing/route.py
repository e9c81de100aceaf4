# SPDX-License-Identifier: Apache-2.0
"""What the two halves of the `kv-block-zeroer` patch share: a pool of their own for each engine object.

A pool is built when blocks are first zeroed and kept on the object. Whatever goes wrong, the engine's
own code does the work instead: zeroing twice is harmless.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from vllm_soak.zeroing.failure import ZeroingError

LOGGER = logging.getLogger("vllm.vllm_soak")
_KEPT = "_vllm_soak_zeroing"

# Zeroes the pages of these blocks in every segment of a pool.
Zero = Callable[[Sequence[int]], None]


class Same:
    """Equal only to another one of the very same object, which it keeps alive."""

    def __init__(self, it: object) -> None:
        self._it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other._it is self._it

    def __hash__(self) -> int:
        return id(self._it)


def zeroed(owner: Any, block_ids: Sequence[int], key: Hashable, build: Callable[[], Zero]) -> bool:
    """Zero blocks by the native op.

    Args:
        owner: The engine's object, on which the pool is kept.
        block_ids: Blocks to zero.
        key: What the pool depends on; another one builds it anew.
        build: Makes the function that zeroes.

    Returns:
        Whether it was done; False leaves it to the engine's own code.
    """
    try:
        zero = _kept(owner, key, build)
        if zero is None:
            return False
        zero(block_ids)
    except Exception as error:  # noqa: BLE001 - the engine's own code is there, and decides what is an error
        _complain_once(str(error) if isinstance(error, ZeroingError) else repr(error))
        return False
    return True


def _kept(owner: Any, key: Hashable, build: Callable[[], Zero]) -> Zero | None:
    kept: tuple[Hashable, Zero | None] | None = vars(owner).get(_KEPT)
    if kept is None or kept[0] != key:
        vars(owner)[_KEPT] = kept = (key, None)  # what fails once is not tried in every step
        zero = build()
        vars(owner)[_KEPT] = kept = (key, zero)
    return kept[1]


def is_routed(owner: Any) -> bool:
    """Whether blocks of this object have been zeroed by the op."""
    kept = vars(owner).get(_KEPT)
    return kept is not None and kept[1] is not None


def forget(owner: Any) -> None:
    """Drop what is kept on an object."""
    vars(owner).pop(_KEPT, None)


@functools.cache
def _complain_once(reason: str) -> None:
    LOGGER.warning("vllm-soak: patch kv-block-zeroer leaves the zeroing to vLLM: %s", reason)


def say_at_work(device: Any, segments: int) -> None:
    """Log that the op is in use."""
    LOGGER.info("vllm-soak: KV blocks on %s are zeroed by the native op (%d segments).", device, segments)
