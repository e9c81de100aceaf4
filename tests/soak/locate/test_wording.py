# SPDX-License-Identifier: Apache-2.0
"""Advice names what the caller has."""

from __future__ import annotations

import re

import pytest

import vllm_soak
from vllm_soak.locate.wording import OF_CALLS, Wording, of_windows
from vllm_soak.verdict.growth import judge_growth
from vllm_soak.verdict.lengths import Growth
from vllm_soak.verdict.series import Series

OF_SECONDS = of_windows("second", 100)
# Lengths at the end of each round that leave open whether a container leaks.
OPEN = {
    "gaps": [0, 9, 18, 18, 27, 36],
    "uneven-growth": [0, 1, 9, 10, 30, 31],
    "slowing": [0, 50, 80, 95, 105, 112, 117, 121, 124, 126],
    "too-few-rounds": [0, 10, 20],
}


@pytest.mark.parametrize(("wording", "known"), [(OF_CALLS, {"rounds", "max_rounds", "repeat"}), (OF_SECONDS, None)])
@pytest.mark.parametrize("rule", OPEN)
def test_only_what_the_caller_has_is_advised(wording: Wording, known: set[str] | None, rule: str) -> None:
    values = [float(one) for one in OPEN[rule]]
    finding = judge_growth(Growth(Series([10 * at for at in range(len(values))], values)))
    assert finding is not None
    assert finding.rule == rule
    found = set(re.findall(r"--[a-z-]+", wording.say(finding.settle)))
    assert found <= (set() if known else {"--rounds", "--max-rounds", "--interval"})
    named = re.findall(r"\(([a-z_, -]+)\)", wording.say(finding.settle))
    assert named
    assert known is None or set(", ".join(named).split(", ")) <= known


def test_work_is_counted_in_the_callers_unit() -> None:
    said = "growth per request ended; run on until it stops: some 1,250 more requests (--num-prompts, --max-requests)"
    assert OF_SECONDS.say(said) == "growth per second ended; run on until it stops: some 13 more seconds (--interval)"
    assert OF_CALLS.say(said).endswith("some 1,250 more calls (repeat)")


def test_flags_that_the_caller_lacks_leave_nothing() -> None:
    assert OF_CALLS.say("soak longer (--duration)") == "soak longer"


def test_growth_advises_its_own_arguments() -> None:
    kept: list[int] = []
    growth = vllm_soak.growth()
    for turn in range(9):
        kept.extend([1] * (40 // (turn + 1)))
        growth.round()
    assert growth.verdict.outcome == "inconclusive"
    assert "(max_rounds" in growth.verdict.settle
    assert "--" not in growth.verdict.settle
