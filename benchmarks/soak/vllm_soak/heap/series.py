# SPDX-License-Identifier: Apache-2.0
"""Containers that a census has named, and what it says of them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.attributes import type_name
from vllm_soak.heap.bounds import bound_of
from vllm_soak.heap.frames import shown_type
from vllm_soak.heap.inspectors.ages import Age, named_age
from vllm_soak.heap.inspectors.limits import Limit, named_limit
from vllm_soak.heap.inspectors.weak import weak_registry
from vllm_soak.heap.kinds import container_base, length, shallow_bytes
from vllm_soak.heap.living import Keyed, Living
from vllm_soak.heap.retained import exclusive_per_entry, recent_entries
from vllm_soak.heap.samples import samples

if TYPE_CHECKING:
    from vllm_soak.heap.inspectors.bound import Bound
    from vllm_soak.heap.locate import Located
    from vllm_soak.heap.path import Path
    from vllm_soak.heap.retained import Weigh


@dataclass
class Series:
    """A container that was answered with once, and is from then on.

    What is said of it is looked up anew when its length has changed, or another object has taken its place.

    Attributes:
        path: The way by which it was first found: what names the series.
        address: Where the container was at the last census.
        code: Sixteen bits of its type.
        length: `len()` at the last census.
        exclusive: Exclusive bytes an entry when last measured.
        samples: What its last entries looked like then.
        limit: A number beside it that read like its limit then.
        age: A time beside it that read like the age at which entries are dropped.
        times: Censuses in a row that it grew in, up to the last one.
        keyed: What is known of the objects that it holds.
        bound: Its greatest length, where an inspector knows one.
        weak: Why it keeps nothing alive, or an empty string.
        entry_types: Type names of a few recent entries.
        described: Address of the container that the last three are true of.
        measured: Address of the container whose limit was looked for.
    """

    path: Path
    address: int
    code: int
    length: int
    exclusive: float | None = None
    samples: list[str] = field(default_factory=list)
    limit: Limit | None = None
    age: Age | None = None
    times: int = 0
    keyed: Keyed = field(default_factory=Keyed)
    bound: Bound | None = None
    weak: str = ""
    entry_types: list[str] = field(default_factory=list)
    described: int = 0
    measured: int = 0

    def measure(self, where: Located, growth: int, weigh: Weigh, *, contents: bool) -> None:
        """Look into the entries and beside the container.

        Args:
            where: The container.
            growth: Entries gained since the census before.
            weigh: Bytes that entries alone keep alive.
            contents: Show contents among the samples.
        """
        base = container_base(where.item) or list
        if growth > 0:
            with contextlib.suppress(RuntimeError):  # it is being changed: the last measure stands
                self.exclusive = exclusive_per_entry(where.item, base, weigh)
                self.samples = samples(where.item, base, contents=contents)
        if self.measured != id(where.item):
            self.age = named_age(where.owners)
        if self.measured != id(where.item) or self._is_past_limit():
            self.limit = named_limit(where.item, where.owners, self.length)
        self.measured = id(where.item)

    def _is_past_limit(self) -> bool:
        """Whether another number is to be looked for; where there was none, a longer container has none either."""
        return self.limit is not None and self.length > self.limit.length

    def _nearest_limit(self) -> Limit | None:
        """The smaller one of a number beside it, and the number of objects that it could hold."""
        found = [one for one in (self.limit, _as_limit(self.keyed.bound)) if one is not None]
        return min((one for one in found if self.length <= one.length), default=None)

    def count(self, where: Located, growth: int, living: Living) -> None:
        """Whether it holds objects that were there before in each census that it grew in, and how many there are."""
        with contextlib.suppress(RuntimeError):  # it is being changed
            living.bound(self.keyed, where.item, container_base(where.item) or list, growth)

    def row(self, where: Located, growth: int) -> dict[str, Any]:
        """The container in a census's answer."""
        base = container_base(where.item) or list
        if growth or self.described != id(where.item):
            self._describe(where, base)
        limit = self._nearest_limit() if self.bound is None else None
        return {
            "path": self.path.text,
            "template": self.path.template,
            "fingerprint": self.path.fingerprint,
            "type": type_name(type(where.item)),
            "length": self.length,
            "grown": growth,
            "shallow_bytes": _own_bytes(where.item, base, self.length),
            "exclusive_per_entry": self.exclusive,
            "bound": None if self.bound is None else self.bound.length,
            "bound_reason": "" if self.bound is None else self.bound.reason,
            "limit": None if limit is None else limit.length,
            "limit_name": "" if limit is None else limit.name,
            "age": None if self.age is None else self.age.seconds,
            "age_name": "" if self.age is None else self.age.name,
            "weak": self.weak,
            "steps": self.path.steps,
            "entry_types": self.entry_types,
            "samples": self.samples,
        }

    def _describe(self, where: Located, base: type) -> None:
        self.described = id(where.item)
        self.bound = bound_of(where.item, where.owners) or (self.keyed.bound if self.keyed.by_keys else None)
        self.weak = _weak(where)
        self.entry_types = entry_types(where.item, base)


def _as_limit(objects: Bound | None) -> Limit | None:
    return None if objects is None else Limit(objects.length, "the number of objects that it holds or could")


def _weak(where: Located) -> str:
    try:
        return weak_registry(where.item, where.owners)
    except RuntimeError:  # it is being changed
        return ""


def _own_bytes(item: object, base: type, at_walk: int) -> int:
    """A container's own bytes, in proportion when it became longer since the walk came past it."""
    own, now = shallow_bytes(item), length(item, base) if container_base(item) else 0
    return own * at_walk // now if now > at_walk > 0 else own


def entry_types(container: object, base: type) -> list[str]:
    """Type names of a few recent entries (of a mapping's values), each once; none while it is being changed."""
    if base is bytearray:
        return ["int"]
    try:
        return list(dict.fromkeys(shown_type(entry[-1]) for entry in recent_entries(container, base)))
    except RuntimeError:
        return []
