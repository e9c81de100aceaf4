# SPDX-License-Identifier: Apache-2.0
"""Deciding on a patch and applying it: never raising, never by halves."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from vllm_soak.patching.engine import installed_release
from vllm_soak.patching.match import Declined, match
from vllm_soak.patching.registry import known
from vllm_soak.patching.release import Release, contains
from vllm_soak.patching.selection import select
from vllm_soak.patching.status import LOGGER, PatchStatus, Status, log_line, record
from vllm_soak.patching.swap import MARK, Swap, revert_ours, swap_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vllm_soak.patching.patch import Patch, Target
    from vllm_soak.patching.resolve import Attribute

# Patch name to what was swapped, and why that was right.
_applied: dict[str, tuple[tuple[Swap, ...], str]] = {}
_lock = threading.RLock()
_said: list[PatchStatus] = []


def apply_selected(
    environ: Mapping[str, str] | None = None,
    *,
    engine: str = "vllm",
    patches: Sequence[Patch] | None = None,
    announce: bool = True,
) -> list[PatchStatus]:
    """Apply the patches that the environment selects, and say so in one log line.

    Never raises; safe to call again, which changes and says nothing more.

    Args:
        environ: Where `VLLM_SOAK_PATCHES` is looked up; the process's environment by default.
        engine: Import name of the engine in this process.
        patches: Patches to consider; all that are known for the engine by default.
        announce: Whether to log.
    """
    try:
        return _apply_selected(os.environ if environ is None else environ, engine, patches, announce)
    except Exception:  # noqa: BLE001 - the engine must start whatever is wrong with us
        LOGGER.warning("vllm-soak could not consider its patches; none was applied.", exc_info=True)
        return []


def _apply_selected(
    environ: Mapping[str, str], engine: str, patches: Sequence[Patch] | None, announce: bool
) -> list[PatchStatus]:
    considered = list(known(engine) if patches is None else patches)
    selection = select(environ, considered)
    version = installed_release(engine)
    statuses = [apply_patch(patch, version, disabled=selection.why_not(patch)) for patch in considered]
    if announce and statuses != _said:
        _said[:] = statuses
        log_line(statuses, engine, version)
        if warning := selection.warning(considered):
            LOGGER.warning("%s", warning)
    return statuses


def apply_patch(patch: Patch, version: str | None, *, disabled: str = "") -> PatchStatus:
    """Apply one patch to this process, if it is wanted, needed and safe.

    Never raises. On any failure the engine is left exactly as it was.

    Args:
        patch: The patch.
        version: The engine's version as text; None when it is not installed.
        disabled: Why the user does not want it, or an empty string.
    """
    with _lock:
        try:
            return record(patch, Status.APPLIED, _apply(patch, version, disabled))
        except Declined as declined:
            return record(patch, declined.status, declined.reason)
        except Exception as error:  # noqa: BLE001 - the engine must start whatever is wrong with us
            return record(patch, Status.FAILED, f"{type(error).__name__}: {error}; nothing was changed")


def _apply(patch: Patch, version: str | None, disabled: str) -> str:
    if patch.name in _applied:
        return _standing(patch)
    if disabled:
        raise Declined(Status.DISABLED, disabled)
    release = _affected(patch, version)
    found = match(patch, release)
    if any(getattr(attribute.function, MARK, None) == patch.name for _, attribute in found.attributes):
        return "another copy of this package applied it"
    if patch.already_fixed():
        raise Declined(Status.NOT_NEEDED, f"{release.public} already has the upstream fix")
    swaps = tuple(_swap(patch, target, attribute) for target, attribute in found.attributes)
    swap_all(swaps)
    _applied[patch.name] = (swaps, found.reason)
    return found.reason


def _standing(patch: Patch) -> str:
    swaps, reason = _applied[patch.name]
    others = [swap.attribute.path for swap in swaps if not swap.is_ours]
    return f"{reason}; since wrapped by someone else: {', '.join(others)}" if others else reason


def _affected(patch: Patch, version: str | None) -> Release:
    if version is None:
        raise Declined(Status.UNKNOWN_VERSION, f"{patch.engine} is not installed")
    try:
        release = Release.parse(version)
    except ValueError as error:
        raise Declined(Status.UNKNOWN_VERSION, str(error)) from None
    if not contains(patch.affected, release):
        raise Declined(Status.NOT_NEEDED, f"{version} is outside of {patch.affected}")
    return release


def _swap(patch: Patch, target: Target, attribute: Attribute) -> Swap:
    replacement: Any = target.build(attribute.function)
    setattr(replacement, MARK, patch.name)
    return Swap(attribute, replacement)


def undo(patch: Patch) -> list[str]:
    """Put the originals back wherever the attribute is still ours.

    Returns:
        Paths that were left alone, because someone else has replaced them since.
    """
    with _lock:
        swaps, _ = _applied.pop(patch.name, ((), ""))
        left = revert_ours(swaps)
        reason = f"undone, except {', '.join(left)}, which someone else replaced" if left else "undone"
        record(patch, Status.DISABLED, reason)
        return left
