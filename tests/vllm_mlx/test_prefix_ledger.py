# SPDX-License-Identifier: Apache-2.0
"""What is stored of a view of a larger buffer, on mlx's own arrays and caches."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import mlx.core as mx

from vllm_soak.patches.vllm_mlx.prefix_ledger import own_buffers, resident_bytes

WIDE, KEPT = 100_000, 3


def views() -> tuple[SimpleNamespace, SimpleNamespace]:
    """A cache with two views of large buffers, and one of a list that has the first view as well."""
    first, second = (mx.arange(WIDE, dtype=mx.float32) + start for start in (0, 1))
    mx.eval(first, second)
    one = SimpleNamespace(cache=[first[-KEPT:], None], inner={"keys": second[:KEPT]})
    mx.eval(one.cache[0], one.inner["keys"])
    return one, SimpleNamespace(cache=one.cache, offset=7)


def test_what_is_stored_keeps_no_more_than_it_shows() -> None:
    gc.collect()
    before = mx.get_active_memory()
    stored = views()
    assert mx.get_active_memory() - before > 2 * WIDE
    own_buffers(list(stored))
    gc.collect()
    assert resident_bytes(list(stored)) == 2 * KEPT * 4
    assert mx.get_active_memory() - before < WIDE


def test_the_values_stay_and_what_was_shared_is_shared() -> None:
    one, other = views()
    own_buffers([one, other, one])
    assert one.cache is other.cache
    assert one.cache[0].tolist() == [WIDE - 3, WIDE - 2, WIDE - 1]
    assert one.inner["keys"].tolist() == [1, 2, 3]
    assert one.cache[1] is None
    assert other.offset == 7
