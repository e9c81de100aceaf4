# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.workloads.growing_tokens import GrowingTokens


def talks(turns: int = 3, seed: int = 0) -> GrowingTokens:
    return GrowingTokens(turns=turns, input_len=20, output_len=2, vocab_size=512, seed=seed)


def test_a_turn_sends_everything_so_far_and_new_tokens() -> None:
    workload = talks()
    first = workload.prompt(0)
    workload.answered(0, [301, 302])
    second = workload.prompt(1)
    assert len(first) == 20
    assert second[:22] == [*first, 301, 302]
    assert len(second) == 42


def test_a_conversation_ends_after_its_turns_and_the_next_begins_anew() -> None:
    workload = talks(turns=2)
    for index in range(2):
        workload.prompt(index)
        workload.answered(index, [1])
    assert len(workload.prompt(2)) == 20


@given(st.integers(1, 5), st.integers(1, 4))
def test_open_conversations_are_never_more_than_requests_in_flight(in_flight: int, turns: int) -> None:
    workload = talks(turns=turns)
    for start in range(0, 10 * in_flight, in_flight):
        prompts = [workload.prompt(start + one) for one in range(in_flight)]
        assert len({tuple(prompt) for prompt in prompts}) == in_flight
        for one in range(in_flight):
            workload.answered(start + one, [7])
    assert len(workload._waiting) + len(workload._busy) <= in_flight


def test_seeds_differ_and_repeat() -> None:
    assert talks(seed=1).prompt(0) == talks(seed=1).prompt(0) != talks(seed=2).prompt(0)
