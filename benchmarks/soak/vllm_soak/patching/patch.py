# SPDX-License-Identifier: Apache-2.0
"""What a patch declares: what it replaces, on which releases, and how to tell that the defect is there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Target:
    """One function of the engine that a patch replaces.

    Args:
        path: Module and attribute, `"package.module:Class.method"`.
        parameters: Names of parameters that the function must begin with, `self` included.
        build: Makes the replacement from the original function.
        fingerprints: Release to source fingerprint, for each release that the patch was verified on
            and that has this function.
    """

    path: str
    parameters: tuple[str, ...]
    build: Callable[[Any], Any]
    fingerprints: Mapping[str, str]


@dataclass(frozen=True)
class Patch:
    """One defect, and the functions that are replaced together to cure it.

    Args:
        name: What users select it by.
        summary: The defect, in one sentence.
        upstream: Where it is reported and fixed.
        affected: PEP 440 specifier of the releases that have the defect.
        targets: Gives the targets; called only on an affected release. All are swapped, or none.
        already_fixed: Looks at the engine's structure for the upstream fix.
        present: Behaviour check: given the live object named in `subject` after some load, whether
            the defect shows.
        subject: What `present` wants, in words.
        engine: Import name of the engine.
        default: Whether `all` includes it.
    """

    name: str
    summary: str
    upstream: str
    affected: str
    targets: Callable[[], tuple[Target, ...]]
    already_fixed: Callable[[], bool]
    present: Callable[[Any], bool]
    subject: str = "scheduler"
    engine: str = "vllm"
    default: bool = field(default=True)
