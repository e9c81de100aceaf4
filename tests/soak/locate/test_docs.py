# SPDX-License-Identifier: Apache-2.0
"""The Python of docs/locator.md is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

TEXT = (Path(__file__).parents[3] / "docs" / "locator.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
(LADDER,) = re.findall(r"```\n(LEAK .*?)```", TEXT, re.DOTALL)


class Service:
    def __init__(self) -> None:
        self.history: list[object] = []

    def handle_one(self) -> None:
        self.history.append(object())

    def handle(self, work: object) -> None:
        self.history.extend(work if isinstance(work, list) else [work])


def test_a_test_of_the_docs_fails_with_the_ladder() -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    with pytest.raises(AssertionError) as failure:
        names["test_requests_leave_nothing_behind"](Service())
    shown, expected = str(failure.value).splitlines(), LADDER.splitlines()
    assert shown[1 : len(expected)] == expected[1:]


@pytest.mark.parametrize("block", BLOCKS[1:])
def test_the_other_ways_of_the_docs_find_it_as_well(block: str) -> None:
    service = Service()
    first, *rest = re.split(r"\n\n(?=g = )", block)
    for part in (f"import vllm_soak\n{first}", *(f"import vllm_soak\n{one}" for one in rest)):
        names: dict[str, Any] = {
            "service": service,
            "requests": [[object()] * 7] * 3,
            "request": [object()] * 300,
            "batches": [[object()] * size for size in (20, 30, 20, 30, 20, 30, 20)],
        }
        exec(part, names)
        assert any(one.path.endswith(".history") for one in names["g"].suspects)
