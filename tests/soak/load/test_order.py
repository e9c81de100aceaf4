# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest

from vllm_soak.load.order import LoadOrder, StartOrder, check_lengths
from vllm_soak.workloads.mix import make_mix


def test_absent_and_null_arguments_are_the_defaults() -> None:
    assert LoadOrder.read({"requests": 5, "seconds": None, "request_rate": "inf"}) == LoadOrder(requests=5)
    order = StartOrder.read({"url": "http://127.0.0.1:1/", "timeout": None})
    assert (order.url, order.timeout, order.model) == ("http://127.0.0.1:1", 600.0, None)
    assert [part.name for part in order.mix.parts] == ["unique"]


def test_a_load_needs_an_end() -> None:
    assert math.isinf(LoadOrder.read({"seconds": 3}).requests)
    with pytest.raises(ValueError, match="give requests, or seconds"):
        LoadOrder.read({"max_concurrency": 3})


def test_the_workload_of_a_host_is_a_mix_of_one() -> None:
    workload = {"kind": "shared-prefix", "input_len": 10, "output_len": 2, "prefix_len": 4, "seed": 3}
    order = StartOrder.read({"url": "u", "workload": {**workload, "stream": True}, "seed": 3})
    part = order.mix.parts[0]
    assert (part.workload, part.input_len, part.prefix_len, part.stream) == ("shared-prefix", 10, 4, True)
    assert order.seed == 3


def test_requests_that_the_model_cannot_hold_are_refused() -> None:
    mix = make_mix({"part": [{"workload": "growing-chat", "turns": 10, "output_len": 30}]})
    with pytest.raises(ValueError, match="grow to 2500 tokens, and the model's longest sequence has 2048: lower its"):
        check_lengths(mix, 2048)
    check_lengths(mix, 2500)
    check_lengths(mix, None)
