# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

import numpy as np
import pytest

from vllm_soak.heap.samples import sample, samples

SECRET = "the user's own words"


class Request:
    def __init__(self) -> None:
        self.request_id = SECRET
        self.tokens = [1, 2, 3]
        self.params: Any = Params()
        self.done = False


class Params:
    __slots__ = ("n", "stop", "unset")

    def __init__(self) -> None:
        self.n, self.stop = 7, (SECRET,)


class Wide:
    def __init__(self) -> None:
        self.__dict__.update({f"field{at}": at for at in range(50)})


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)

    def __repr__(self) -> str:
        raise AssertionError("repr")

    def __len__(self) -> int:
        raise AssertionError("len")

    @property
    def computed(self) -> int:
        raise AssertionError("computed")


def stream() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (SECRET, f"str[{len(SECRET)}]"),
        (b"12345", "bytes[5]"),
        (12, "int"),
        (None, "None"),
        (True, "True"),
        ([1, 2], "list[2]"),
        ((1, 2, 3), "tuple[3]"),
        (OrderedDict(a=1), "OrderedDict[1]"),
        (np.zeros((2, 3), dtype=np.float32), "ndarray float32 (2, 3)"),
        (object(), "object"),
        (Request, "type"),
        (Request(), f"Request(request_id=str[{len(SECRET)}], tokens=list[3], params=Params, done=False)"),
        (Params(), "Params(n=int, stop=tuple[1])"),
    ],
)
def test_types_lengths_shapes_and_fields(item: Any, shown: str) -> None:
    assert sample(item) == shown


def test_nobodys_code_runs() -> None:
    assert sample(Hostile()) == "Hostile"


def test_a_suspended_generator_is_shown_where_it_stands() -> None:
    assert sample(stream()).startswith("generator stream (test_samples.py:")


def test_what_a_suspended_generator_holds_is_named_also_in_a_small_record() -> None:
    def decode(prompt: list[int]) -> Any:
        cache, empty = {0: SECRET}, []  # type: ignore[var-annotated]
        yield SECRET
        yield cache, empty, prompt

    begun = decode([1, 2, 3])
    next(begun)
    held = "holding prompt=list[3], cache=dict[1]"
    assert sample(begun).startswith("generator decode (test_samples.py:")
    assert sample(begun).endswith(held)
    record = sample({"gen": begun, "name": SECRET})
    assert record.startswith("dict[2] with generator decode (test_samples.py:")
    assert record.endswith(held)
    assert sample(dict.fromkeys(range(7), begun)) == "dict[7]"  # no record
    assert next(begun)[2] == [1, 2, 3]  # its locals are as they were


def test_contents_are_shown_only_when_asked_for() -> None:
    for item in (SECRET, [SECRET], {SECRET: SECRET}, Request(), Params()):
        assert SECRET not in sample(item)
    assert SECRET in sample(SECRET, contents=True)
    assert f"request_id={SECRET!r}" in sample(Request(), contents=True)
    assert sample("x" * 10_000, contents=True) == repr("x" * 40)


def test_a_sample_is_bounded() -> None:
    assert len(sample(Wide())) <= 200
    assert sample(Wide()).endswith("…)")
    long = type("Long", (), {"__slots__": ("f" * 100, "g" * 100)})()
    for name in type(long).__slots__:
        setattr(long, name, 1)
    assert len(sample(long)) == 200


def test_the_last_entries_of_a_container() -> None:
    assert samples([1, "a", None], list) == ["None", "str[1]", "int"]
    assert samples({1: "ab", "cd": [3]}, dict) == ["str[2]: list[1]", "int: str[2]"]
    assert samples(deque([1, 2, 3, 4, 5]), deque) == ["int"] * 3
    assert samples(bytearray(b"abc"), bytearray) == []
    assert samples({}, dict) == []
