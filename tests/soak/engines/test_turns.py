# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import count

from vllm_soak.engines.turns import turn_by_turn


def test_the_idle_engine_and_each_turn_have_a_row_of_what_is_kept() -> None:
    turns: list[int] = []
    places = count()

    def look() -> dict[str, float]:
        place = next(places)
        assert len(turns) == place  # once before, then after each turn
        return {"mlx_active": 100.0 + place, "mtp_entries": float(place), "rss": 1.0}

    rows = turn_by_turn(3, lambda: turns.append(1), look)
    assert rows == [{"mlx_active": 100.0 + at, "mtp_entries": float(at)} for at in range(4)]


def test_an_engine_without_mlx_holds_no_such_conversation() -> None:
    offered: list[int] = []
    assert turn_by_turn(3, lambda: offered.append(1), lambda: {"rss": 1.0}) == []
    assert turn_by_turn(3, lambda: offered.append(1), dict) == []
    assert offered == []
