# SPDX-License-Identifier: Apache-2.0
"""The groups that objects fall into, against the rules in words of groups.c."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.heap import native

pytestmark = pytest.mark.skipif(native.NATIVE is None, reason="the native walk is not built on this machine")


PLAIN = (list, dict, tuple, set, frozenset, deque, OrderedDict, defaultdict)


def expected_groups(found: list[tuple[int, type, int, int, int]], first: int) -> list[tuple[type, ...]]:
    """Each object's group as the path of types from the root, by the rules in words of groups.c."""
    paths: list[tuple[type, ...]] = []
    for _, cls, parent, _, _ in found:
        above = paths[parent - first] if parent >= 0 else ()
        paths.append(continued(above, cls) if above else (cls,))
    return paths


def continued(above: tuple[type, ...], cls: type) -> tuple[type, ...]:
    if above[-1] is cls or len(above) > 60:
        return above
    if cls not in PLAIN:
        for back in range(2, min(len(above), 9) + 1):
            if above[-back] is cls:
                return above[: len(above) - back + 1]
    return (*above, cls)


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_objects_are_grouped_by_the_types_on_the_way(graphs: Any, data: st.DataObject) -> None:
    nodes = graphs.draw(data)
    walk = graphs.walk(nodes)
    found = graphs.rows(walk)
    first = walk.objects - len(found)
    expected = expected_groups(found, first)
    assert len(set(zip(expected, (row[4] for row in found), strict=True))) == len(set(expected))
    assert len({row[4] for row in found}) == len(set(expected))
