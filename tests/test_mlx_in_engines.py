# SPDX-License-Identifier: Apache-2.0
"""Runs tests/vllm_mlx inside environments of the engines on mlx: their tests need the engines' own classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_soak.environments.cache import ensure

# Both ends of the MTP defect's range that can be reached here, the first fixed release, and the other engine.
RELEASES = ("rapid-mlx==0.10.18", "rapid-mlx==0.12.18", "rapid-mlx==0.13.1", "rapid-mlx==0.13.2", "vllm-mlx==0.4.1")


@pytest.mark.engine
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", RELEASES)
def test_engine_side_suite(
    release: str, run_engine_suite: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")  # of the engine's own caches
    run_engine_suite(ensure(release, on_progress=print).python, Path(__file__).parent / "vllm_mlx", HOME=str(home))
