# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.workloads.shared_prefix import SharedPrefix
from vllm_soak.workloads.unique import Unique
from vllm_soak.workloads.workload import make_workload


def test_the_default_is_the_reporters_load() -> None:
    workload = make_workload({}, 512)
    assert isinstance(workload, Unique)
    assert len(workload.prompt(0)) == 220
    assert workload.output_len == 1


def test_shared_prefix_takes_its_lengths() -> None:
    spec = {"kind": "shared-prefix", "prefix_len": 48, "input_len": 10, "output_len": 3, "seed": 5}
    workload = make_workload(spec, 512)
    assert isinstance(workload, SharedPrefix)
    assert len(workload.prefix) == 48
    assert len(workload.prompt(1)) == 58
    assert workload.output_len == 3


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'chatty': known are unique, shared-prefix"):
        make_workload({"kind": "chatty"}, 512)
