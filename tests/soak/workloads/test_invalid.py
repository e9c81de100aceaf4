# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.workloads.invalid import SPOILERS, spoil

GOOD = {"model": "m", "prompt": [1, 2], "max_tokens": 1, "temperature": 0.0}


@settings(deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.one_of(st.none(), st.integers(1, 10_000)))
def test_every_choice_spoils(choice: float, longest: int | None) -> None:
    body = dict(GOOD)
    spoil(body, choice, longest)
    assert body != GOOD


def test_all_ways_come_up_and_too_long_only_where_the_limit_is_known() -> None:
    def ways(longest: int | None) -> set[str]:
        found = set()
        for step in range(100):
            body = dict(GOOD)
            spoil(body, step / 100, longest)
            found.add(str(body))
        return found

    assert len(ways(None)) == len(SPOILERS)
    assert len(ways(2048)) == len(SPOILERS) + 1
    assert any("2049" in one for one in ways(2048))
