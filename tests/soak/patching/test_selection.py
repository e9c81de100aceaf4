# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_soak.patching.selection import select


@pytest.fixture
def patches(make_patch: Callable[..., Any]) -> list[Any]:
    return [make_patch(name="one"), make_patch(name="two"), make_patch(name="risky", default=False)]


@pytest.mark.parametrize(
    ("text", "names", "unknown"),
    [
        (None, {"one", "two"}, ()),
        ("", {"one", "two"}, ()),
        (" , ", {"one", "two"}, ()),
        ("ALL", {"one", "two"}, ()),
        ("all,risky", {"one", "two", "risky"}, ()),
        ("none", set(), ()),
        ("two", {"two"}, ()),
        (" Two , risky,", {"two", "risky"}, ()),
        ("tow,one", {"one"}, ("tow",)),
        ("tow", set(), ("tow",)),
    ],
)
def test_select(patches: list[Any], text: str | None, names: set[str], unknown: tuple[str, ...]) -> None:
    selection = select({} if text is None else {"VLLM_SOAK_PATCHES": text}, patches)
    assert (selection.names, selection.unknown) == (frozenset(names), unknown)
    assert bool(selection.warning(patches)) is bool(unknown)


def test_warning_names_valid_ones(patches: list[Any]) -> None:
    selection = select({"VLLM_SOAK_PATCHES": "tow,one"}, patches)
    assert selection.warning(patches) == (
        "VLLM_SOAK_PATCHES names no such patch: tow; valid names are all, none, one, two, risky."
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "off by default; to apply it, name it in VLLM_SOAK_PATCHES"),
        ("all", "off by default; to apply it, name it in VLLM_SOAK_PATCHES"),
        ("none", "VLLM_SOAK_PATCHES=none"),
        ("one", "VLLM_SOAK_PATCHES=one"),
        ("risky", ""),
    ],
)
def test_reason_for_leaving_out(patches: list[Any], text: str, reason: str) -> None:
    assert select({"VLLM_SOAK_PATCHES": text}, patches).why_not(patches[-1]) == reason


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=20))
def test_any_text_is_understood_or_named(patches: list[Any], text: str) -> None:
    selection = select({"VLLM_SOAK_PATCHES": text}, patches)
    words = {word.strip().lower() for word in text.split(",") if word.strip()}
    assert set(selection.unknown) == words - {"all", "none", "one", "two", "risky"}
