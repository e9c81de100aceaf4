# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.sampling.watch import lengths, parse

MODULE_LEVEL = {"main": [1, 2]}


class Engine:
    def __init__(self) -> None:
        self.managers = [Manager(), Manager()]
        self.by_name = {"main": deque([1])}

    @property
    def lazy(self) -> list[int]:
        raise AssertionError("a property ran")


class Manager:
    __slots__ = ("ids",)

    def __init__(self) -> None:
        self.ids = [1, 2, 3]


@pytest.mark.parametrize(
    ("path", "length"),
    [
        ("engine.managers[1].ids", 3),
        ("engine.managers", 2),
        ('engine.by_name["main"]', 1),
        ("engine.by_name['main']", 1),
        (f'{__name__}:MODULE_LEVEL["main"]', 2),
        (f"{__name__}:MODULE_LEVEL", 1),
    ],
)
def test_a_path_leads_to_a_length(path: str, length: int) -> None:
    engine = Engine()
    assert lengths([path]) == {path: length}
    assert engine.managers


@pytest.mark.parametrize(
    "path",
    ["", "engine.lazy", "engine.managers[7]", "engine.missing", "engine.managers[0]", "engine..x", "x y", "no.mod:x"],
)
def test_what_leads_nowhere_or_to_no_container_is_absent(path: str) -> None:
    engine = Engine()
    assert lengths([path]) == {}
    assert engine.managers


@given(st.text(max_size=30))
def test_any_text_is_either_steps_or_nothing(text: str) -> None:
    steps: Any = parse(text)
    assert steps is None or "".join(step.text for step in steps) == text.replace("'", '"') or "[0" in text
