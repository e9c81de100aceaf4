# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging

import pytest

from vllm_soak.zeroing import route
from vllm_soak.zeroing.failure import LibraryError


class Owner:
    """Stands for an engine's object: anything with attributes."""


@pytest.fixture(autouse=True)
def _complaints_afresh():
    route._complain_once.cache_clear()


def test_the_pool_is_built_once_for_a_key_and_again_for_another():
    owner, built, done = Owner(), [], []

    def build():
        built.append(1)
        return done.append

    assert route.zeroed(owner, [1], "a", build)
    assert route.zeroed(owner, [2], "a", build)
    assert (len(built), done) == (1, [[1], [2]])
    assert route.zeroed(owner, [3], "b", build)
    assert len(built) == 2
    assert route.is_routed(owner)
    route.forget(owner)
    assert not route.is_routed(owner)


def test_what_cannot_be_built_is_tried_once_and_said_once(caplog):
    owner, tries = Owner(), []

    def build():
        tries.append(1)
        raise LibraryError("it is not there", "bring it")

    with caplog.at_level(logging.WARNING, logger=route.LOGGER.name):
        assert not route.zeroed(owner, [1], "a", build)
        assert not route.zeroed(owner, [1], "a", build)
    assert len(tries) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "vllm-soak: patch kv-block-zeroer leaves the zeroing to vLLM: it is not there: bring it."
    ]
    assert not route.is_routed(owner)


def test_a_failing_call_is_left_to_the_engine_and_the_next_one_tried_again(caplog):
    owner = Owner()

    def zero(ids):
        if ids == [9]:
            raise RuntimeError("no such block")

    assert not route.zeroed(owner, [9], "a", lambda: zero)
    assert route.zeroed(owner, [1], "a", lambda: zero)
    assert "RuntimeError('no such block')" in caplog.text


def test_same_is_identity_and_keeps_its_object_alive():
    one, other = [1], [1]
    assert route.Same(one) == route.Same(one)
    assert route.Same(one) != route.Same(other)
    assert len({route.Same(one), route.Same(one), route.Same(other)}) == 2
