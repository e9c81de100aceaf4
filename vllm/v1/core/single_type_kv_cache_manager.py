# SPDX-License-Identifier: Apache-2.0
"""`new-block-ids`, the managers' half: do not record ids of new blocks that nobody will take.

Full-attention and MLA managers record every block that they allocate, so that a worker can zero it
when Mamba layers share the pool. A manager that was told that this is not so leaves nothing behind.
One that was never told keeps recording: its scheduler may want the ids.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target
from vllm_soak.patching.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

_CLASS = "vllm.v1.core.single_type_kv_cache_manager:SingleTypeKVCacheManager"
_RECORDING = "_vllm_soak_recording"


def tell(manager: Any, *, recording: bool) -> None:
    """Tell a manager whether the ids that it records have a consumer."""
    setattr(manager, _RECORDING, recording)


def leave_nothing(allocate: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that records ids, so that a manager told not to keeps none.

    What the original records is dropped before the caller sees it, also when it raises half-way.
    The list object stays the same, as it does when upstream does not record.
    """

    @functools.wraps(allocate)
    def leaving_nothing(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return allocate(self, *args, **kwargs)
        finally:
            if getattr(self, "new_block_ids", None):  # most calls allocate nothing, and end here
                _forget(self)

    return leaving_nothing


def _forget(manager: Any) -> None:
    ids = manager.new_block_ids
    # Whatever but a list an unforeseen subclass keeps there is its own affair.
    if not getattr(manager, _RECORDING, True) and type(ids) is list:
        ids.clear()


def already_fixed() -> bool:
    """Whether managers know by themselves when to record, as they do since the upstream fix."""
    try:
        resolve(f"{_CLASS}.records_new_block_ids")
    except (ImportError, AttributeError):
        return False
    return True


TARGETS = (
    Target(
        path=f"{_CLASS}.allocate_new_blocks",
        parameters=("self", "request_id", "num_tokens"),
        build=leave_nothing,
        fingerprints=table(
            {
                "e8b938f319aa36d9": "0.17.1 0.18.0 0.18.1 0.19.0 0.19.1",
                "cda3b878545cfdb3": "0.20.0 0.20.1 0.20.2 0.21.0 0.22.0 0.22.1",
                "4424d2631588444f": "0.23.0",
                "60d382a49da09be4": "0.24.0 0.25.0 0.25.1",
            }
        ),
    ),
    # Blocks for tokens that a KV connector brings in; renamed on the way.
    Target(
        path=f"{_CLASS}.allocate_new_computed_blocks",
        parameters=("self", "request_id"),
        build=leave_nothing,
        fingerprints=table(
            {
                "5ec6d2572b3cac67": "0.17.1 0.18.0 0.18.1 0.19.0 0.19.1",
                "eb99256104965071": "0.20.0 0.20.1 0.20.2 0.21.0 0.22.0 0.22.1",
                "d151137c2a94f572": "0.23.0",
            }
        ),
    ),
    Target(
        path=f"{_CLASS}.allocate_external_computed_blocks",
        parameters=("self", "request_id"),
        build=leave_nothing,
        fingerprints=table(
            {
                "d71461080d5de75c": "0.24.0 0.25.0 0.25.1",
            }
        ),
    ),
)
