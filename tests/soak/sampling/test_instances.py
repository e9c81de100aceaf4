# SPDX-License-Identifier: Apache-2.0
"""All objects of a type, found while other threads build tuples."""

from __future__ import annotations

import threading

from vllm_soak.sampling.instances import instances

LOOKS = 30
ENTRIES = 40


class Wanted:
    """What is looked for."""


class Derived(Wanted):
    """Not quite that."""


def test_all_of_the_very_type_are_found() -> None:
    made = [Wanted() for _ in range(5)]
    others = [Derived()]
    found = instances(Wanted)
    assert {id(one) for one in found} == {id(one) for one in made}
    assert len(found) == len(made)
    assert [type(one) for one in instances(Derived)] == [type(one) for one in others]


def test_no_metaclass_is_asked_whether_types_are_equal() -> None:
    asked: list[object] = []

    class Curious(type):
        __hash__ = type.__hash__

        def __eq__(cls, other: object) -> bool:
            asked.append(other)
            return True

    class Stranger(metaclass=Curious):
        """Equal to everything, by what its metaclass says."""

    made = [one for _ in range(5) for one in (Wanted(), Stranger())]
    found = instances(Wanted)
    assert asked == []
    assert {id(one) for one in found} == {id(one) for one in made[::2]}
    assert {id(one) for one in instances(Stranger)} == {id(one) for one in made[1::2]}


def test_none_is_kept() -> None:
    made = [Wanted()]
    assert len(instances(Wanted)) == 1
    made.clear()
    assert instances(Wanted) == []


def test_tuples_that_another_thread_is_building_are_left_whole() -> None:
    failures: list[SystemError] = []
    done = threading.Event()

    def build() -> None:
        while not done.is_set():
            build_one()

    def build_one() -> None:
        try:
            tuple(number for number in range(ENTRIES))
        except SystemError as failure:
            failures.append(failure)

    builder = threading.Thread(target=build)
    builder.start()
    try:
        for _ in range(LOOKS):
            instances(Wanted)
    finally:
        done.set()
        builder.join()
    assert failures == []
