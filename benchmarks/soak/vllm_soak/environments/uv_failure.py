# SPDX-License-Identifier: Apache-2.0
"""What uv's last words mean for a user: one sentence with cause and remedy."""

from __future__ import annotations

import re
from pathlib import Path

from vllm_soak.environments.releases import Release, unknown_release
from vllm_soak.errors import EngineError, SoakError

# uv draws its causes as a tree, in letters or in words, and may wrap them.
DECORATION = re.compile(r"[│╰─▶├\u00d7]|\b(?:error|cause|hint|Caused by):")
NO_SPACE = re.compile(r"No space left on device|os error 28\b|Disk quota exceeded")
NETWORK = re.compile(
    r"Failed to fetch|error sending request|network was disabled|dns error|Failed to download|timed out|os error 111"
)
NO_WHEEL = re.compile(
    r"no wheels? with a matching|no wheels? are available|has no wheels|no usable wheels", re.IGNORECASE
)
LONGEST = 300


def explain(text: str, release: Release, folder: Path) -> SoakError:
    """Turn uv's output into the error that a user sees.

    Args:
        text: What uv wrote.
        release: What it was to install.
        folder: The environment that was to be made.

    Returns:
        A `UsageError` when the release does not exist, else an `EngineError`.
    """
    said = plain(text)
    if NO_SPACE.search(said):
        return disk_full(folder)
    if f"there is no version of {release}" in said:
        return unknown_release(release)
    if NETWORK.search(said):
        return EngineError(
            f"the package index could not be reached while installing {release} ({brief(said)})",
            "check the network and the index that pip is configured with (pip config list), then run this again",
        )
    if NO_WHEEL.search(said):
        return EngineError(
            f"{release} or something it needs has no build for this Python or machine ({brief(said)})",
            "run vllm-soak with another Python version, or choose another release",
        )
    return EngineError(
        f"uv could not install {release} ({brief(said)})",
        "install the engine yourself and give its Python with --python, or choose another release",
    )


def disk_full(folder: Path) -> EngineError:
    """The error for a disk without room."""
    return EngineError(
        f"there is no space left for the engine environment {folder.name} in {folder.parent}",
        "free some (vllm-soak env remove, uv cache clean), or set VLLM_SOAK_CACHE to a folder on a larger disk",
    )


def plain(text: str) -> str:
    """The error as running text: from its first error on, without the tree's lines."""
    start = re.search(r"^\s*(?:error:|\u00d7)", text, re.MULTILINE)
    return " ".join(DECORATION.sub(" ", text[start.start() :] if start else text).split())


def brief(said: str) -> str:
    """The first words of an error, fit to stand within a sentence."""
    short = said if len(said) <= LONGEST else said[:LONGEST].rpartition(" ")[0] + " ..."
    return short.rstrip(".") or "it gave no reason"
