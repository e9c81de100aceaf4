# SPDX-License-Identifier: Apache-2.0
"""From addresses and from paths back to objects."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from vllm_soak.heap import native
from vllm_soak.heap.attributes import MISSING, existing_dict
from vllm_soak.heap.hops import entries, follow
from vllm_soak.heap.path import Path, trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.heap.roots import Root


class Located:
    """An object with the way to it.

    Args:
        root: Where the way begins.
        chain: Objects on the way, from the root's value down to the object.
        path: The way in words, where it is known.
    """

    __slots__ = ("_path", "_root", "item", "owners")

    def __init__(self, root: Root, chain: list[Any], path: Path | None = None) -> None:
        self._root = root
        self._path = path
        self.item: Any = chain[-1]
        self.owners: list[object] = chain[:-1]

    @property
    def path(self) -> Path:
        """The way in words, looked for when it is first asked for: that takes longest.

        Raises:
            RuntimeError: A container on the way is being changed.
        """
        if self._path is None:
            self._path = trace(self._root, [*self.owners, self.item])
        return self._path


class Locator:
    """Finds objects from the roots of one census.

    Args:
        roots: The roots that the walk started from.
    """

    def __init__(self, roots: Iterable[Root]) -> None:
        known = [*roots][::-1]  # the first one of a kind is the last one to be written
        self._by_address = {id(root.value): root for root in known}
        self._by_name = {(root.place, root.label): root for root in known}

    def knows(self, address: int) -> bool:
        """Whether a root is at an address."""
        return address in self._by_address

    def by_chain(self, addresses: list[int]) -> Located | None:
        """The object at the end of a walk's chain of addresses, or None when it has moved since."""
        root = self._by_address.get(addresses[0])
        if root is None:
            return None
        chain: list[object] = [root.value]
        for address in addresses[1:]:
            below = _down(chain[-1], address)
            if not below:
                return None
            chain += below
        return Located(root, chain)

    def by_path(self, path: Path) -> Located | None:
        """What a path leads to now, or None."""
        root = self._by_name.get((path.place, path.root))
        if root is None:
            return None
        chain: list[Any] = [root.value]
        for rung in path.rungs[1:]:
            if rung.hop is None:
                return None
            below = self._below(root, chain[-1], rung.hop, first=len(chain) == 1)
            if below is MISSING:
                return None
            chain.append(below)
        return Located(root, chain, path)

    @staticmethod
    def _below(root: Root, item: Any, hop: Any, *, first: bool) -> Any:
        if first and not root.place:  # a module's namespace
            return item.get(hop.name, MISSING)
        return follow(item, hop)


def referent(above: object, address: int) -> object | None:
    """The object at an address, if another one refers to it."""
    if native.NATIVE is not None:
        found: object | None = native.NATIVE.referent(above, address)
        return found
    return next((one for one in gc.get_referents(above) if id(one) == address), None)


def _down(above: object, address: int) -> list[object]:
    """The referent at an address, or that and the namespace above it; empty when it is gone.

    A namespace may have come between since the walk: the engine, or the naming of another container,
    has asked for an instance's `__dict__`, and the interpreter has built it.
    """
    below = referent(above, address)
    if below is not None:
        return [below]
    namespace = existing_dict(above)
    within = [value for _, value in entries(namespace or {}) if id(value) == address]
    return [namespace, within[0]] if within else []
