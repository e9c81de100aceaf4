# SPDX-License-Identifier: Apache-2.0
"""Known defects: what a path or a ring of objects shows, which patch treats it, and how that stands in a process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.store.record import PatchRow


# Status of a patch that nobody has written.
NO_PATCH = "none"


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """A defect that was reproduced with released engines (`docs/corpus.md`, `docs/mlx.md`).

    Args:
        name: Its name, which is that of the patch that treats it.
        suffix: End of the path template of the container that grows; of a ring of objects, its beginning.
        upstream: Where upstream fixed it, or that it did not.
        affected: Releases that were seen affected.
        workaround: What helps where there is no patch of ours; empty where there is one.
    """

    name: str
    suffix: str
    upstream: str
    affected: str
    workaround: str = ""


_METRICS = "start with `disable_log_stats=False`, which drains them"
_STORE = "leave `VLLM_ENABLE_RESPONSES_API_STORE` unset, or restart the server"
_OPEN = "vLLM, not fixed in 0.32.0"
_STORED = ("responses-store", _OPEN, "0.32.0", _STORE)
_BATCH = ("batch-lists", "mlx-lm 0.31.3", "0.4.0-0.16.10")
KNOWN = (
    KnownDefect("new-block-ids", "single_type_managers[i].new_block_ids", "vLLM PR 44490", "0.17.1-0.25.1"),
    KnownDefect("kv-eviction-events", "kv_metrics_collector._eviction_events", _OPEN, "0.12.0-0.32.0", _METRICS),
    *(
        KnownDefect(_STORED[0], f"app.state._state[*].{name}", *_STORED[1:])
        for name in ("response_store", "msg_store", "event_store")
    ),
    KnownDefect(
        "lora-stats", "lora_states.lora_name_to_stats", "vLLM 0.12.0", "0.11.0", "move to vLLM 0.12.0 or later"
    ),
    *(
        KnownDefect("mtp-state", f"{step}.<_state>", "rapid-mlx 0.13.2", "0.9.13-0.13.1")
        for step in ("_generation_batch._step", "_step.__func__.<orig_step>")
    ),
    KnownDefect(
        "prefix-cache-bytes", "scheduler.prefix_cache._cache", "not fixed in rapid-mlx 0.16.10", "0.2.7-0.16.10"
    ),
    *(KnownDefect(_BATCH[0], f"_generation_batch.{name}", *_BATCH[1:]) for name in ("logits_processors", "samplers")),
)
RINGS = (
    KnownDefect(
        "request-block-hasher-cycle",
        "Request.get_hash_new_full_blocks -> partial",
        "vLLM 0.16.0",
        "0.15.1",
        "move to vLLM 0.16.0 or later",
    ),
    KnownDefect(
        "singleton-cycle",
        "KVCache.filter.__self__ -> KVCache",
        "rapid-mlx 0.15.6",
        "0.12.11-0.15.5",
        "apply the patch of that name, or move to rapid-mlx 0.15.6 or later",
    ),
)


def known_defect(template: str) -> KnownDefect | None:
    """Return the known defect that a path template shows, or None."""
    return next((defect for defect in KNOWN if _ends(template, defect.suffix)), None)


def known_ring(ring: str) -> KnownDefect | None:
    """Return the known defect that a ring of objects shows, or None."""
    return next((defect for defect in RINGS if ring.startswith(defect.suffix)), None)


def patch_status(patches: Iterable[PatchRow], process: str, defect: KnownDefect | None) -> str:
    """Return the last reported status of a defect's patch in a process, or an empty string; `NO_PATCH` without one."""
    if defect is None or defect.workaround:
        return NO_PATCH if defect else ""
    name = defect.name
    found = [row.status for row in patches if row.process == process and row.name == name]
    return found[-1] if found else ""


def _ends(template: str, suffix: str) -> bool:
    """Whether a template ends with a suffix at a rung's border."""
    head = template.removesuffix(suffix)
    return head != template and (not head or head[-1] in ".]")
