# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.heap.attributes import MISSING
from vllm_soak.heap.hops import Hop, follow, hop, is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Plain:
    def __init__(self, value: object) -> None:
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (Plain, ".value"),
        (Slotted, ".value"),
        (lambda one: [0, one], "[1]"),
        (lambda one: (one,), "[0]"),
        (lambda one: deque([0, 0, one]), "[2]"),
        (lambda one: {"name": one}, '["name"]'),
        (lambda one: OrderedDict(name=one), '["name"]'),
        (lambda one: {"a user's words": one}, "[*]"),
        (lambda one: {7: one}, "[*]"),
        (lambda one: functools.partial(print, one).args, "[0]"),
    ],
)
def test_a_step_is_named_and_leads_back(make: Any, text: str) -> None:
    target = [object()]
    above = make(target)
    step = hop(above, target)
    assert step.text == text
    assert follow(above, step) is target


def test_an_attribute_that_no_method_mentions_is_still_named() -> None:
    above = Plain(1)
    target = [object()]
    setattr(above, "set_from_" + "outside", target)
    assert hop(above, target) == Hop("attribute", "set_from_outside")


def test_bound_methods_partials_and_suspended_generators() -> None:
    target = Plain(1)

    def generate(cache: Plain) -> Iterator[int]:
        yield 1
        yield cache.value  # type: ignore[misc]

    generator = generate(target)
    next(generator)
    bound = functools.partial(print, target)
    assert hop(bound.args, target).text == "[0]"
    assert hop(bound, bound.args).text == ".args"
    step = hop(generator, target)
    assert step.text == ".cache"
    assert follow(generator, step) is target


def test_a_set_shows_nothing_of_its_members() -> None:
    target = (1, "secret")
    assert hop({target}, target).text == "[*]"


def test_what_is_gone_is_missing() -> None:
    assert follow([], Hop("index", 3)) is MISSING
    assert follow({}, Hop("key", "name")) is MISSING
    assert follow(Plain(1), Hop("attribute", "other")) is MISSING
    assert follow(Plain(1), Hop("referent", "<x>")) is MISSING


@given(st.text(max_size=60))
def test_only_short_names_are_plain(key: str) -> None:
    assert is_plain(key) == (key.isidentifier() and len(key) <= 40)


def test_the_template_hides_indices_and_keys() -> None:
    assert Hop("index", 4).template == "[i]"
    assert Hop("key", "name").template == "[*]"


def test_a_suspended_frame_is_no_rung_of_its_own(run_python: Callable[[str], str]) -> None:
    """CPython 3.10 keeps a generator's frame apart: paths and fingerprints agree with later ones all the same."""
    output = run_python("""
        from vllm_soak.heap.census import Census

        class Service:
            pass

        def stream():
            seen = []
            while True:
                seen.append(object())
                yield

        service, census = Service(), Census()
        service.stream = stream()
        for taken in range(3):
            for _ in range(20):
                next(service.stream)
            rows = census.take(baseline=taken == 0)["populations"]
        print([(row["template"], row["fingerprint"]) for row in rows if "service" in row["template"]])
    """)
    assert output.strip() == "[('__main__.service.stream.seen', '802585d9245e')]"
