# SPDX-License-Identifier: Apache-2.0
"""The part of PEP 440 that gates a patch, without `packaging`, which an engine need not have."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import total_ordering

_VERSION = re.compile(
    r"""\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_n>\d+)?)?
    (?P<post>-(?P<post_dash>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n>\d+)?)?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d+)?)?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_CLAUSE = re.compile(r"\s*(?P<operator>>=|<=|==|!=|<|>)\s*(?P<version>\S+)\s*")
_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_PHASE_NAMES = ("a", "b", "rc")
# Neighbours in the order of PEP 440: a bare dev release comes before alphas, a final one after candidates.
_BEFORE_ALPHA, _FINAL = (-1, 0), (3, 0)
_NO_DEV = float("inf")

_Key = tuple[int, tuple[int, ...], tuple[int, int], int, float]


@total_ordering
@dataclass(frozen=True)
class Release:
    """A version, ordered as PEP 440 orders versions.

    Args:
        epoch: Almost always 0.
        numbers: The release segment, `(0, 25, 1)`.
        pre: Phase (0 alpha, 1 beta, 2 candidate) and number, or None.
        post: Number of the post release, or None.
        dev: Number of the development release, or None.
        local: Parts of the local label, such as `("cu129",)`; numbers are ints.
    """

    epoch: int
    numbers: tuple[int, ...]
    pre: tuple[int, int] | None = None
    post: int | None = None
    dev: int | None = None
    local: tuple[int | str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read a version such as `0.25.1`, `0.26.0rc1` or `0.25.2.dev7+g1234.cu129`.

        Raises:
            ValueError: The text is no PEP 440 version.
        """
        found = _VERSION.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a PEP 440 version")
        return cls(
            epoch=int(found["epoch"] or 0),
            numbers=tuple(int(number) for number in found["release"].split(".")),
            pre=(_PHASES[found["pre"].lower()], int(found["pre_n"] or 0)) if found["pre"] else None,
            post=int(found["post_dash"] or found["post_n"] or 0) if found["post"] else None,
            dev=int(found["dev_n"] or 0) if found["dev"] else None,
            local=_local_parts(found["local"]),
        )

    @property
    def public(self) -> str:
        """The version without its local label, in normal form."""
        pre = "" if self.pre is None else f"{_PHASE_NAMES[self.pre[0]]}{self.pre[1]}"
        post = "" if self.post is None else f".post{self.post}"
        dev = "" if self.dev is None else f".dev{self.dev}"
        epoch = f"{self.epoch}!" if self.epoch else ""
        return epoch + ".".join(map(str, self.numbers)) + pre + post + dev

    @property
    def is_prerelease(self) -> bool:
        """Whether it is an alpha, beta, candidate or development release."""
        return self.pre is not None or self.dev is not None

    @property
    def base(self) -> tuple[int, tuple[int, ...]]:
        """Epoch and release segment without trailing zeros: what a final release would compare by."""
        return self.epoch, _strip_zeros(self.numbers)

    @property
    def public_key(self) -> _Key:
        """Sort key that leaves the local label out."""
        pre = self.pre or (_BEFORE_ALPHA if self.dev is not None and self.post is None else _FINAL)
        post = -1 if self.post is None else self.post
        return *self.base, pre, post, _NO_DEV if self.dev is None else self.dev

    @property
    def _key(self) -> tuple[_Key, tuple[tuple[bool, int | str], ...]]:
        return self.public_key, tuple((isinstance(part, int), part) for part in self.local)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Release) -> bool:
        return self._key < other._key


def _strip_zeros(numbers: tuple[int, ...]) -> tuple[int, ...]:
    end = len(numbers)
    while end > 1 and numbers[end - 1] == 0:
        end -= 1
    return numbers[:end]


def _local_parts(label: str | None) -> tuple[int | str, ...]:
    parts = re.split(r"[-_.]", label.lower()) if label else []
    return tuple(int(part) if part.isdigit() else part for part in parts)


def contains(specifier: str, release: Release) -> bool:
    """Whether a release satisfies every clause, such as `>=0.17.1,<0.26.0`; pre-releases count.

    Raises:
        ValueError: A clause is not one of `>= > <= < == !=` and a version.
    """
    return all(_satisfies(clause, release) for clause in specifier.split(","))


def _satisfies(clause: str, release: Release) -> bool:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise ValueError(f"{clause!r} is not a version clause")
    bound = Release.parse(found["version"])
    return _compare(found["operator"], release, bound)


def _compare(operator: str, release: Release, bound: Release) -> bool:
    if operator in {"==", "!="}:
        same = release == bound if bound.local else release.public_key == bound.public_key
        return same is (operator == "==")
    if operator == ">=":
        return release.public_key >= bound.public_key
    if operator == "<=":
        return release.public_key <= bound.public_key
    return _below(release, bound) if operator == "<" else _above(release, bound)


def _below(release: Release, bound: Release) -> bool:
    # PEP 440: `<V` shuts out pre-releases of V itself, unless V is one.
    limit = bound if bound.is_prerelease else replace(bound, dev=0)
    return release.public_key < limit.public_key


def _above(release: Release, bound: Release) -> bool:
    # PEP 440: `>V` shuts out local builds and post-releases of V; the latter unless V is one itself.
    of_bound = (release.base, release.pre) == (bound.base, bound.pre) and release.post is not None
    shut_out = of_bound and bound.post is None and bound.dev is None
    return release.public_key > bound.public_key and not shut_out
