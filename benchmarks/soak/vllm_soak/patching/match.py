# SPDX-License-Identifier: Apache-2.0
"""Whether the engine's code is the code that a patch was verified on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm_soak.patching.fingerprint import fingerprint
from vllm_soak.patching.release import Release
from vllm_soak.patching.resolve import Attribute, begins_with, resolve
from vllm_soak.patching.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm_soak.patching.patch import Patch, Target


class Declined(Exception):  # noqa: N818 - a decision, not an error
    """A patch is not applied, for a reason that is no failure.

    Args:
        status: What to report.
        reason: Why, in words.
    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Match:
    """The attributes to swap, and the verified release whose code they are equal to."""

    attributes: list[tuple[Target, Attribute]]
    reason: str


@dataclass(frozen=True)
class _Seen:
    """A target in this process: its attribute, its fingerprint, or what is wrong with it."""

    attribute: Attribute | None
    fingerprint: str
    fault: str = ""


def match(patch: Patch, release: Release) -> Match:
    """Find a verified release whose targets all equal those of this process.

    Raises:
        Declined: No verified release does (`drifted`).
    """
    targets = patch.targets()
    seen = {target.path: _look(target) for target in targets}
    candidates = _nearest_first(targets, release)
    for candidate in candidates:
        if not _faults(targets, seen, candidate):
            layout = [target for target in targets if candidate in target.fingerprints]
            return Match(_attributes(layout, seen), _reason(release, candidate))
    raise Declined(Status.DRIFTED, _drift(targets, seen, candidates))


def _look(target: Target) -> _Seen:
    try:
        attribute = resolve(target.path)
    except (ImportError, AttributeError) as error:
        return _Seen(None, "", f"{target.path} does not resolve ({error})")
    try:
        if not begins_with(attribute.function, target.parameters):
            return _Seen(attribute, "", f"{target.path} has another signature")
        return _Seen(attribute, fingerprint(attribute.function))
    except (OSError, TypeError, ValueError) as error:
        return _Seen(attribute, "", f"{target.path} cannot be read ({error})")


def _faults(targets: Sequence[Target], seen: dict[str, _Seen], candidate: str) -> list[str]:
    return [fault for target in targets if (fault := _fault(target, seen[target.path], candidate))]


def _fault(target: Target, found: _Seen, candidate: str) -> str:
    """How a target differs from the candidate release, or an empty string."""
    if candidate not in target.fingerprints:  # that release does not have this function
        return "" if found.attribute is None else f"{target.path} is not in {candidate}"
    if found.fault or found.fingerprint == target.fingerprints[candidate]:
        return found.fault
    return f"the source of {target.path} differs from that of {candidate}"


def _attributes(layout: Sequence[Target], seen: dict[str, _Seen]) -> list[tuple[Target, Attribute]]:
    found = [(target, seen[target.path].attribute) for target in layout]
    return [(target, attribute) for target, attribute in found if attribute is not None]


def _nearest_first(targets: Sequence[Target], release: Release) -> list[str]:
    """Verified releases: this one, then older ones from the newest down, then newer ones."""
    verified = {name: Release.parse(name) for target in targets for name in target.fingerprints}
    older = [name for name in verified if verified[name].public_key <= release.public_key]
    newer = [name for name in verified if name not in older]
    return sorted(older, key=lambda name: verified[name], reverse=True) + sorted(newer, key=lambda name: verified[name])


def _reason(release: Release, candidate: str) -> str:
    if Release.parse(candidate).public_key == release.public_key:
        return f"verified on {candidate}"
    return f"{release.public} is not verified, but its code equals that of {candidate}"


def _drift(targets: Sequence[Target], seen: dict[str, _Seen], candidates: Sequence[str]) -> str:
    if not candidates:
        return "no release is verified"
    return "; ".join(_faults(targets, seen, candidates[0]))
