# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from vllm_soak.heap.inspectors.ages import named_age


class Held:
    def __init__(self, **named: Any) -> None:
        self.entries: dict[int, float] = {}
        self.__dict__.update(named)


class Dropping(Held):
    def drop(self, now: float) -> None:
        for old in [one for one, since in self.entries.items() if now - since > self._ttl]:  # type: ignore[attr-defined]
            del self.entries[old]


class Two(Held):
    def drop(self) -> float:
        return min(self.max_age, self.ttl)  # type: ignore[attr-defined, no-any-return]


def test_a_time_that_the_code_makes_use_of() -> None:
    held = Dropping(_ttl=1800)
    assert named_age([held]) == (1800.0, "Dropping._ttl")
    assert named_age([Dropping(_ttl=timedelta(minutes=2))]) == (120.0, "Dropping._ttl")


def test_the_shortest_counts() -> None:
    assert named_age([Two(max_age=60, ttl=90.5)]) == (60.0, "Two.max_age")


@pytest.mark.parametrize("value", [0, -1, None, "1800", True, float("inf"), 1e12])
def test_what_is_no_time(value: object) -> None:
    assert named_age([Dropping(_ttl=value)]) is None


def test_a_time_that_nobody_uses_or_that_is_called_otherwise() -> None:
    assert named_age([Held(ttl=60)]) is None
    assert named_age([Dropping(timeout=60)]) is None
    assert named_age([]) is None


def test_of_a_module() -> None:
    made = ModuleType("made")
    exec("TTL = 30\nSEEN = {}\ndef drop(now):\n  return now - TTL", made.__dict__)
    assert named_age([made.__dict__]) == (30.0, "made.TTL")


class Hostile(Dropping):
    @property
    def _ttl(self) -> float:
        raise AssertionError("ran")


def test_a_property_is_not_run() -> None:
    assert named_age([Hostile()]) is None
