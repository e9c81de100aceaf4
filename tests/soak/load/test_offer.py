# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.load.offer import Source, base_body, fate_of
from vllm_soak.load.order import StartOrder
from vllm_soak.workloads.mix import Part


def source(*parts: dict[str, Any], chars_per_token: float = 1.0, **start: Any) -> Source:
    order = StartOrder.read({"url": "u", "mix": {"part": list(parts)}, **start})
    return Source(order, "m", chars_per_token)


@settings(deadline=None)
@given(st.integers(0, 1 << 40), st.integers(0, 1000))
def test_a_request_without_history_is_a_function_of_its_index(index: int, seed: int) -> None:
    parts = ({}, {"name": "talk", "endpoint": "chat", "structured": True})
    one, again = (source(*parts, seed=seed).offer(index) for _ in range(2))
    assert one == again


@settings(deadline=None)
@given(st.integers(0, 1 << 40))
def test_fates_meet_their_shares(first: int) -> None:
    part = {"stream": True, "output_len": 2, "abort": 0.1, "disconnect": 0.25, "invalid": 0.05}
    made = source({**part, "input_len": 4})
    counts = Counter(made.offer(index).fate for index in range(first, first + 400))
    assert all(
        abs(counts[fate] - wanted) <= 5 for fate, wanted in {"abort": 40, "disconnect": 100, "invalid": 20}.items()
    )


@pytest.mark.parametrize("seed", range(3))
def test_fates_meet_their_shares_within_each_part(seed: int) -> None:
    parts = [{"share": 8}, {"name": "b", "abort": 0.05}, {"name": "c", "share": 2, "abort": 0.05, "invalid": 0.1}]
    made = source(*({**one, "input_len": 4} for one in parts), seed=seed)
    offers = [made.offer(index) for index in range(11_000)]
    counts = Counter((offer.part, offer.fate) for offer in offers)
    wanted = {(1, "abort"): 50, (2, "abort"): 100, (2, "invalid"): 200}
    assert all(abs(counts[which] - number) <= 3 for which, number in wanted.items())
    details = sorted(offer.detail for offer in offers if (offer.part, offer.fate) == (2, "invalid"))
    assert all(abs(value - (rank + 0.5) / len(details)) < 0.03 for rank, value in enumerate(details))


def test_a_share_of_one_is_all() -> None:
    assert fate_of(Part(invalid=1.0), 1 - 2**-53) == "invalid"
    assert fate_of(Part(abort=0.5, invalid=0.5), 0.5) == "invalid"
    assert fate_of(Part(), 0.0) == "answer"


def test_prompts_of_completions_are_token_ids_and_counted() -> None:
    offer = source({"input_len": 30}, vocab_size=512).offer(3)
    body = json.loads(offer.body)
    assert offer.prompt_tokens == len(body["prompt"]) == 30
    assert all(isinstance(token, int) and token < 256 for token in body["prompt"])


def test_shared_prefixes_are_shared_by_ids_and_by_text() -> None:
    ids = source({"workload": "shared-prefix", "prefix_len": 20, "input_len": 10})
    prompts = [json.loads(ids.offer(index).body)["prompt"] for index in (1, 2)]
    assert prompts[0][:20] == prompts[1][:20]
    assert prompts[0][20:] != prompts[1][20:]
    part = {"workload": "shared-prefix", "prefix_len": 20, "input_len": 10, "endpoint": "chat"}
    text = source(part, chars_per_token=3.0)
    messages = [json.loads(text.offer(index).body)["messages"] for index in (1, 2)]
    assert messages[0][0] == messages[1][0]
    assert [len(one["content"]) for one in messages[0]] == [60, 30]
    assert messages[0][1] != messages[1][1]


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        (Part(), {"max_tokens": 1, "temperature": 0.0, "ignore_eos": True}),
        (Part(stream=True), {"stream": True, "stream_options": {"include_usage": True}}),
        (Part(n=3), {"n": 3, "temperature": 1.0}),
        (Part(logprobs=2), {"logprobs": 2}),
        (Part(logprobs=2, endpoint="chat"), {"logprobs": True, "top_logprobs": 2}),
        (Part(extra={"ignore_eos": False, "top_k": 4}), {"ignore_eos": False, "top_k": 4}),
    ],
)
def test_the_fields_of_a_part(part: Part, fields: dict[str, Any]) -> None:
    body = base_body(part, "m")
    assert {name: body[name] for name in fields} == fields
    assert body["model"] == "m"


def test_a_grammar_must_be_able_to_end() -> None:
    assert "ignore_eos" not in base_body(Part(structured=True), "m")
