# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.zeroing.failure import BlockIdError, LayoutError
from vllm_soak.zeroing.host_pool import HostPool, id_array
from vllm_soak.zeroing.segment import Segment

pytestmark = pytest.mark.usefixtures("cpu_library")
PATTERN = 0xA5


@pytest.mark.parametrize("method", ["auto", "cached", "stream"])
def test_only_the_pages_of_the_ids_become_zero(pools, method):
    @settings(max_examples=150, deadline=None)
    @given(pool=pools, threads=st.integers(0, 4))
    def check(pool, threads):
        HostPool(pool.segments(), pool.num_blocks).zero(pool.ids, threads, method)
        for allocation in pool.allocations:
            assert np.array_equal(allocation.memory, allocation.expected(pool.ids))

    check()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_pool_larger_than_the_caches(make_allocation, threads):
    pages = [1 << 18, (1 << 18) + 36]
    allocation = make_allocation(pages, guard=20, skew=4, num_blocks=160)
    ids = list(range(159, 0, -1))
    HostPool(allocation.placed(), 160).zero(ids, threads)
    assert np.array_equal(allocation.memory, allocation.expected(ids))


def test_virtual_splitting_is_one_longer_page_or_more_segments(make_allocation):
    ratio, kernel_page = 4, 272
    whole = make_allocation([kernel_page * ratio], guard=0, skew=0, num_blocks=5)
    split = make_allocation([kernel_page * ratio], guard=0, skew=0, num_blocks=5)
    base = split.memory.ctypes.data
    parts = [Segment(base + at * kernel_page, ratio * kernel_page, kernel_page) for at in range(ratio)]
    HostPool(whole.placed(), 5).zero([3, 1])
    HostPool(parts, 5).zero([3, 1])
    assert np.array_equal(whole.memory, split.memory)
    assert np.array_equal(whole.memory, whole.expected([1, 3]))


@pytest.mark.parametrize(("ids", "bad", "at"), [([0, 5], 5, 1), ([-1, 0], -1, 0), ([0, 1, 2**40, 9], 2**40, 2)])
def test_an_id_outside_of_the_pool_is_refused_before_anything_is_written(make_allocation, ids, bad, at):
    allocation = make_allocation([64], guard=16, skew=0, num_blocks=5)
    pool = HostPool(allocation.placed(), 5)
    said = f"block id {bad} at position {at} is outside of a pool of 5 blocks: give ids from 0 to 4."
    with pytest.raises(BlockIdError, match=re.escape(said)):
        pool.zero(ids)
    assert (allocation.memory == PATTERN).all()


def test_an_id_that_fits_no_integer_is_refused():
    with pytest.raises(BlockIdError, match="64 bits"):
        id_array([1 << 70])


@pytest.mark.parametrize(
    ("shift", "stride", "page"), [(1, 64, 64), (0, 66, 64), (0, 64, 62), (0, 64, 0), (0, -64, 64), (0, 2**61, 64)]
)
def test_unsound_segments_are_refused_before_anything_is_written(make_allocation, shift, stride, page):
    allocation = make_allocation([64, 64], guard=0, skew=0, num_blocks=8)
    base = allocation.memory.ctypes.data
    pool = HostPool([*allocation.placed(), Segment(base + shift, stride, page)], 8)
    with pytest.raises(LayoutError, match="whole 4-byte words"):
        pool.zero([0])
    assert (allocation.memory == PATTERN).all()


def test_no_ids_and_no_segments_are_no_work(make_allocation):
    allocation = make_allocation([64], guard=0, skew=0, num_blocks=2)
    HostPool(allocation.placed(), 2).zero([])
    HostPool([], 2).zero([0, 1])
    assert (allocation.memory == PATTERN).all()
    with pytest.raises(BlockIdError):
        HostPool([], 2).zero([2])


def test_ids_may_come_from_any_iterable(make_allocation):
    allocation = make_allocation([64], guard=4, skew=8, num_blocks=6)
    HostPool(allocation.placed(), 6).zero(np.array([4, 0, 4]))
    assert np.array_equal(allocation.memory, allocation.expected([0, 4]))
    assert id_array(range(3)) == array("q", [0, 1, 2])
