# SPDX-License-Identifier: Apache-2.0
"""From addresses and from paths back to objects."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap.attributes import MISSING, existing_dict
from vllm_soak.heap.hops import entries, follow
from vllm_soak.heap.path import Path, trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_soak.heap.roots import Root


class Located(NamedTuple):
    """A container with the way to it.

    Args:
        path: The way, in words.
        item: The container.
        owners: Objects on the way, from the root down.
    """

    path: Path
    item: Any
    owners: list[object]


class Locator:
    """Finds objects from the roots of one census.

    Args:
        roots: The roots that the walk started from.
    """

    def __init__(self, roots: Iterable[Root]) -> None:
        self._by_address: dict[int, Root] = {}
        self._by_name: dict[tuple[str, str], Root] = {}
        for root in roots:
            self._by_address.setdefault(id(root.value), root)
            self._by_name.setdefault((root.place, root.label), root)

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
        return Located(trace(root, chain), chain[-1], chain[:-1])

    def by_path(self, path: Path) -> Located | None:
        """What a path leads to now, or None."""
        root = self._by_name.get((path.place, path.root))
        if root is None:
            return None
        owners: list[object] = []
        item: Any = root.value
        for rung in path.rungs[1:]:
            if rung.hop is None:
                return None
            owners.append(item)
            item = self._below(root, item, rung.hop, first=len(owners) == 1)
            if item is MISSING:
                return None
        return Located(path, item, owners)

    @staticmethod
    def _below(root: Root, item: Any, hop: Any, *, first: bool) -> Any:
        if first and not root.place:  # a module's namespace
            return item.get(hop.name, MISSING)
        return follow(item, hop)


def _down(above: object, address: int) -> list[object]:
    """The referent at an address, or that and the namespace above it; empty when it is gone.

    A namespace may have come between since the walk: the engine, or the naming of another container,
    has asked for an instance's `__dict__`, and the interpreter has built it.
    """
    below = [one for one in gc.get_referents(above) if id(one) == address]
    if below:
        return below[:1]
    namespace = existing_dict(above)
    within = [value for _, value in entries(namespace or {}) if id(value) == address]
    return [namespace, within[0]] if within else []
