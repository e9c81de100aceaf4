# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.load.answer import Answer
from vllm_soak.load.tally import MOST_KINDS, OTHER, OUTCOMES, Errors, Latency, Tally, total

answers = st.builds(
    Answer,
    outcome=st.sampled_from(OUTCOMES),
    seconds=st.floats(0, 50),
    kind=st.sampled_from(["refused", "reset", "http-500"]),
    first_token=st.one_of(st.none(), st.floats(0, 5)),
    gaps=st.lists(st.floats(0, 1), max_size=3),
    prompt_tokens=st.integers(0, 500),
    output_tokens=st.integers(0, 50),
)


def tally_of(some: list[Answer]) -> Tally:
    tally = Tally()
    for one in some:
        tally.add(one, 11)
    return tally


@settings(deadline=None)
@given(st.lists(answers, max_size=30), st.lists(answers, max_size=30))
def test_parts_add_up_to_what_one_tally_of_all_would_say(left: list[Answer], right: list[Answer]) -> None:
    merged, whole = total([tally_of(left), tally_of(right)]), total([tally_of(left + right)])
    for name in ("latency", "first_token", "inter_token"):
        assert merged[name]["counts"] == whole[name]["counts"]
    assert {**merged, "latency": 0, "first_token": 0, "inter_token": 0, "examples": 0} == {
        **whole,
        "latency": 0,
        "first_token": 0,
        "inter_token": 0,
        "examples": 0,
    }
    assert merged["requests"] == len(left) + len(right) == sum(merged[name] for name in OUTCOMES)
    assert sum(merged["latency"]["counts"]) == merged["completed"]
    assert sum(merged["errors"].values()) == merged["failed"]
    assert set(merged["examples"]) == set(merged["errors"])


def test_tokens_of_a_prompt_are_ours_where_the_server_does_not_count() -> None:
    assert tally_of([Answer(prompt_tokens=0), Answer(prompt_tokens=5)]).prompt_tokens == 16


@settings(deadline=None)
@given(st.lists(st.floats(0, 2000), max_size=50))
def test_a_summary_is_in_order_and_never_beyond_the_longest(seconds: list[float]) -> None:
    latency = Latency()
    for one in seconds:
        latency.record(one)
    found = latency.summary()
    if not seconds:
        assert found == {}
        return
    assert found["p50"] <= found["p90"] <= found["p99"] <= found["max"] == max(seconds)
    assert found["count"] == len(seconds)


def test_kinds_of_errors_are_bounded() -> None:
    errors = Errors()
    for status in range(1000):
        errors.add(f"http-{status}", "text")
    assert len(errors.counts) == MOST_KINDS + 1
    assert errors.counts[OTHER] == 1000 - MOST_KINDS
    assert len(errors.examples) == MOST_KINDS + 1
