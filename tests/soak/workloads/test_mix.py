# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.workloads.mix import Part, make_mix

shares = st.lists(st.floats(0.01, 100), min_size=1, max_size=6)


@settings(deadline=None)
@given(shares, st.integers(0, 1 << 30), st.integers(0, 1 << 40))
def test_every_part_gets_its_share_in_every_stretch(weights: list[float], seed: int, first: int) -> None:
    mix = make_mix({"part": [{"name": f"{number}", "share": share} for number, share in enumerate(weights)]}, seed)
    counts = Counter(mix.part(index) for index in range(first, first + 1000))
    assert sum(counts.values()) == 1000
    for number, share in enumerate(weights):
        assert abs(counts[number] - 1000 * share / math.fsum(weights)) <= 10


def test_defaults_and_names() -> None:
    mix = make_mix({"part": [{}, {"workload": "growing-chat"}, {"name": "third", "share": 2}]})
    assert [part.name for part in mix.parts] == ["unique", "growing-chat", "third"]
    assert mix.parts[0] == Part(name="unique")
    assert mix.parts[1].path == "/v1/chat/completions", "a chat goes to the chat endpoint without saying so"
    assert make_mix({"part": mix.as_json()}).parts == mix.parts


def test_the_longest_request_of_a_part() -> None:
    part = {"workload": "growing-chat", "turns": 4, "input_len": 50, "output_len": 10, "prefix_len": 7}
    parts = make_mix({"part": [{}, part]}).parts
    assert [one.longest for one in parts] == [221, 7 + 4 * 60]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "no part"),
        ({"part": []}, "no part"),
        ({"part": {"share": 1}}, "no part"),
        ({"part": [1]}, "no part"),
        ({"part": [{}], "seed": 1}, "unknown 'seed'"),
        ({"part": [{}, {}]}, "two parts of the mix are called 'unique'"),
        ({"part": [{"sharing": 1}]}, "part 1 of the mix has an unknown field 'sharing': known are abort, "),
        ({"part": [{"share": True}]}, "share = True is of the wrong type: write it like 1.0"),
        ({"part": [{"stream": 1}]}, "stream = 1 is of the wrong type: write it like false"),
        ({"part": [{"input_len": "220"}]}, "wrong type: write it like 220"),
        (
            {"part": [{"workload": "chatty"}]},
            "unknown workload 'chatty': known are unique, shared-prefix, growing-chat",
        ),
        ({"part": [{"endpoint": "embeddings"}]}, "unknown endpoint"),
        ({"part": [{"share": 0}]}, "leave the part out instead"),
        ({"part": [{"share": math.inf}]}, "share = inf"),
        ({"part": [{"share": math.nan}]}, "share = nan"),
        ({"part": [{"n": 0}]}, "n = 0 is too small"),
        ({"part": [{"prefix_len": -1}]}, "must not be below 0"),
        ({"part": [{"abort": 1.5}]}, "abort = 1.5 is no share"),
        ({"part": [{"abort": 0.6, "invalid": 0.6}]}, "add up to more than 1"),
        ({"part": [{"disconnect": 0.1, "output_len": 5}]}, "set stream = true"),
        ({"part": [{"disconnect": 0.1, "stream": True}]}, "output_len to 2 or more"),
        ({"part": [{"workload": "shared-prefix"}]}, "give prefix_len"),
        ({"part": [{"prefix_len": 5}]}, "no use with unique"),
        ({"part": [{"workload": "growing-chat", "endpoint": "completions"}]}, "leave endpoint out"),
    ],
)
def test_an_impossible_mix_is_refused_with_its_remedy(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as told:
        make_mix(spec)
    assert ": " in str(told.value), "cause and remedy"
