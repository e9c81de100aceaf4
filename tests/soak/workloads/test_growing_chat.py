# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.workloads.growing_chat import Conversation, GrowingChat


def chat(turns: int = 3, system_chars: int = 0, seed: int = 0) -> GrowingChat:
    return GrowingChat(turns=turns, chars=20, system_chars=system_chars, seed=seed)


def contents(one: Conversation) -> list[str]:
    return [message["content"] for message in one.messages]


def test_a_conversation_sends_its_history_and_ends() -> None:
    source = chat(turns=2, system_chars=10)
    one = source.take()
    assert [message["role"] for message in one.messages] == ["system", "user"]
    source.answered(one, "hello")
    again = source.take()
    assert again is one
    assert contents(again)[2] == "hello"
    assert len(again.messages) == 4
    source.answered(again, "bye")
    assert source.take() is not one, "two turns are all"


def test_users_say_the_same_for_the_same_seed_and_never_the_same_twice() -> None:
    first, same, other = (chat(seed=seed) for seed in (1, 1, 2))
    texts = [contents(source.take())[0] for source in (first, same, other)]
    assert texts[0] == texts[1] != texts[2]
    assert contents(first.take())[0] != texts[0]


def test_broken_characters_are_not_sent_back() -> None:
    source = chat()
    one = source.take()
    source.answered(one, "a\ufffd\ufffdb")
    assert contents(one)[1] == "ab"
    source.answered(source.take(), "\ufffd")
    assert contents(one)[3] == ".", "a message is never empty"


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 8), st.lists(st.floats(0, 1), min_size=1, max_size=200), st.randoms())
def test_no_more_conversations_are_open_than_requests_were_in_flight(
    turns: int, width: int, fates: list[float], order: random.Random
) -> None:
    """Requests end in any order and one in four fails: its conversation is dropped."""
    source = chat(turns=turns)
    busy: list[Conversation] = []
    for fate in fates:
        if len(busy) == width:
            one = busy.pop(order.randrange(width))
            if fate > 0.25:
                source.answered(one, "ok")
        busy.append(source.take())
        assert len(source._waiting) + len(busy) <= width + 1
        assert all(len(one.messages) == 2 * one.turns + 1 <= 2 * turns for one in busy)
