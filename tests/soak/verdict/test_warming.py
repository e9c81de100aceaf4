# SPDX-License-Identifier: Apache-2.0
"""Bytes that grow less than they did in warm-up are an open question with a name."""

from __future__ import annotations

from itertools import accumulate

import synthetic_series as made

from vllm_soak.verdict.outcome import Outcome, ProcessVerdict
from vllm_soak.verdict.process import judge_process

MIB = 1 << 20


def judged(*growth: float, warm_ups: int = 3) -> ProcessVerdict:
    """The verdict on a process of 500 MB that gained so many MiB in each round after its first."""
    in_use = [5e8 + MIB * total for total in accumulate(growth, initial=0.0)]
    return judge_process(made.arm(in_use, warm_ups=warm_ups), made.PROCESS)


def test_growth_below_that_of_warm_up_is_called_by_its_name() -> None:
    found = judged(15.6, 8.0, 10.9, 3.4, 4.5, 2.2, 4.4)
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "warming")
    assert "(5,326,766 bytes a round after 16,357,786)" in found.reason
    assert "--num-prompts" in found.settle


def test_growth_that_slows_down_in_the_measured_rounds_only_is_not() -> None:
    found = judged(4.0, 4.0, 8.0, 4.0, 3.0, 2.0, 1.0)
    assert (found.outcome, found.rule) == (Outcome.INCONCLUSIVE, "slowing-bytes")


def test_a_leak_after_a_greater_warm_up_is_a_leak() -> None:
    found = judged(20.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert found.outcome is Outcome.LEAK_NATIVE


def test_a_round_without_a_new_page_ends_the_question() -> None:
    found = judged(15.6, 8.0, 10.9, 3.4, 4.5, 0.001, 4.4)
    assert found.outcome is Outcome.NO_LEAK


def test_without_warm_up_there_is_nothing_to_compare_with() -> None:
    assert judged(8.0, 4.0, 3.0, 2.0, 1.0, 1.0, warm_ups=1).rule == "slowing-bytes"
