# SPDX-License-Identifier: Apache-2.0
"""Populations: objects of which each entry of a container holds at most one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.heap.bounds import bound_of
from vllm_soak.heap.inspectors.bound import Bound, is_namespace
from vllm_soak.heap.kinds import container_base, length

if TYPE_CHECKING:
    from vllm_soak.heap.locate import Located

# With fewer members looked at, that all hang at the same place says little.
_FEWEST = 3


def one_an_entry(members: list[Located]) -> Bound | None:
    """The limit of objects that all hang below entries of one container, at the same place.

    The objects of a chain hang at different depths, and so have no limit.

    Args:
        members: A few of the objects, evenly spread.
    """
    if len(members) < _FEWEST or len({one.path.template for one in members}) > 1:
        return None
    holders = [_only_container(one) for one in members]
    first = holders[0]
    if first is None or any(one is None or one[0] is not first[0] for one in holders):
        return None
    container, above = first
    base = container_base(container)
    if base is None:
        return None
    known = bound_of(container, above)
    entries = length(container, base)
    return known or Bound(entries, f"at most one for each of the {entries} entries that hold them")


def one_an_owner(members: list[Located], owners: int) -> Bound | None:
    """The limit of objects that are the same attribute of each of many objects, none of which has two.

    Args:
        members: A few of the objects, evenly spread.
        owners: Objects that may have that attribute; 0 where they become more.
    """
    hops = [one.path.rungs[-1].hop for one in members]
    named = {hop.name for hop in hops if hop is not None and hop.kind == "attribute"}
    if owners == 0 or len(members) < _FEWEST or len(named) != 1 or any(hop is None or hop.is_item for hop in hops):
        return None
    return Bound(owners, f"at most one, as `{named.pop()}`, for each of the {owners} objects that may have it")


def _only_container(member: Located) -> tuple[object, list[object]] | None:
    """The one container whose entry leads to a member, with what is above it."""
    chain = [*member.owners, member.item]
    first = 0 if member.path.place else 1  # a module's namespace
    items = sum(rung.hop is not None and rung.hop.is_item for rung in member.path.rungs)
    found = [at for at in range(first, len(chain) - 1) if _is_container(chain, at)]
    return (chain[found[0]], chain[: found[0]]) if items == len(found) == 1 else None


def _is_container(chain: list[object], at: int) -> bool:
    """Whether an object of the chain is a container, and not an instance's namespace."""
    return container_base(chain[at]) is not None and not (at and is_namespace(chain[at - 1], chain[at]))
