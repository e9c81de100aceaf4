# SPDX-License-Identifier: Apache-2.0
"""Swapping attributes all or none, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vllm_soak.patching.resolve import MISSING, Attribute

if TYPE_CHECKING:
    from collections.abc import Iterable

# Set on every replacement to the patch's name; a second copy of this package sees it too.
MARK = "__vllm_soak_patch__"


@dataclass(frozen=True)
class Swap:
    """An attribute and what stands in its place."""

    attribute: Attribute
    replacement: Any

    def do(self) -> None:
        """Put the replacement in place.

        Raises:
            Exception: Whatever the owner raises when an attribute is set, or when it did not take.
        """
        setattr(self.attribute.owner, self.attribute.name, self.replacement)
        if not self.is_ours:
            raise RuntimeError(f"{self.attribute.path} did not take the replacement")

    @property
    def is_ours(self) -> bool:
        """Whether the owner's namespace still holds our replacement."""
        return vars(self.attribute.owner).get(self.attribute.name, MISSING) is self.replacement

    def revert(self) -> None:
        """Put back the very object that was there, or nothing when it was inherited."""
        owner, name = self.attribute.owner, self.attribute.name
        if self.attribute.own is MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, self.attribute.own)


def swap_all(swaps: Iterable[Swap]) -> None:
    """Swap every attribute; when one fails, put the earlier ones back and raise.

    Raises:
        BaseException: What the failing swap raised.
    """
    done: list[Swap] = []
    try:
        for swap in swaps:
            done.append(swap)
            swap.do()
    except BaseException:  # an interrupt must not leave half a patch either
        revert_ours(done)
        raise


def revert_ours(swaps: Iterable[Swap]) -> list[str]:
    """Put back originals, last first, only where the attribute is still ours.

    Returns:
        Paths that were left alone, because someone else has replaced them since.
    """
    left = []
    for swap in reversed(list(swaps)):
        if swap.is_ours:
            swap.revert()
        else:
            left.append(swap.attribute.path)
    return left
