# SPDX-License-Identifier: Apache-2.0
"""Known defects: which patch treats a path, and how that patch stands in a process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.store.record import PatchRow


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """A defect that a patch of ours treats.

    Args:
        patch: Name of the patch.
        suffix: End of the path template of the container that grows.
        upstream: Where upstream fixed it.
        affected: First and last affected release.
    """

    patch: str
    suffix: str
    upstream: str
    affected: str


KNOWN = (
    KnownDefect("new-block-ids", "single_type_managers[i].new_block_ids", "vLLM PR 44490", "0.17.1-0.25.1"),
    KnownDefect("mtp-state", "_step.__func__.<orig_step>.<_state>", "rapid-mlx 0.13.2", "0.9.13-0.13.1"),
    KnownDefect("batch-lists", "_generation_batch.logits_processors", "mlx-lm 0.31.3", "0.4.0-0.13.4"),
    KnownDefect("batch-lists", "_generation_batch.samplers", "mlx-lm 0.31.3", "0.4.0-0.13.4"),
)


def known_defect(template: str) -> KnownDefect | None:
    """Return the known defect that a path template shows, or None."""
    return next((defect for defect in KNOWN if _ends(template, defect.suffix)), None)


def patch_status(patches: Iterable[PatchRow], process: str, name: str) -> str:
    """Return the last reported status of a patch in a process, or an empty string."""
    found = [row.status for row in patches if row.process == process and row.name == name]
    return found[-1] if found else ""


def _ends(template: str, suffix: str) -> bool:
    """Whether a template ends with a suffix at a rung's border."""
    head = template.removesuffix(suffix)
    return head != template and (not head or head[-1] in ".]")
