# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import _strptime
import encodings
import gc
import linecache
import logging
import re
import sqlite3
import sys
import threading
from typing import Any

import pytest

from vllm_soak.heap.bounds import bound_of
from vllm_soak.heap.inspectors.standard import source_lines

# Place among the lists of a connection; in CPython 3.10 that of its statements comes first.
OF_CURSORS = 0 if sys.version_info >= (3, 11) else 1


@pytest.mark.parametrize(
    ("container", "limit"),
    [
        (re._cache, re._MAXCACHE),  # type: ignore[attr-defined]
        (_strptime._regex_cache, _strptime._CACHE_MAX_SIZE),
    ],
)
def test_caches_with_a_limit_beside_them(container: Any, limit: int) -> None:
    found = bound_of(container, [])
    assert found is not None
    assert found.length == limit


def test_codecs_are_bounded_by_the_names_of_encodings() -> None:
    found = bound_of(encodings._cache, [])  # type: ignore[attr-defined]
    assert found is not None
    assert found.length > 100


def test_source_files_are_bounded_by_modules_unless_their_names_are_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linecache, "cache", {f"/module{at}.py": () for at in range(5)})
    found = source_lines(linecache.cache, [])
    assert found is not None
    assert found.length == len(sys.modules)
    linecache.cache.update({f"<generated {at}>": (0, None, [], "") for at in range(6)})
    assert source_lines(linecache.cache, []) is None


def test_a_line_that_warns_with_ever_new_texts_is_not_bounded() -> None:
    registry: dict[Any, Any] = {"version": 1, ("deprecated", UserWarning, 10): True, ("old", UserWarning, 250): True}
    names = {"__warningregistry__": registry}
    found = bound_of(registry, [names])
    assert found is not None
    assert found.length == 250
    registry.update({(f"request {at}", UserWarning, 10): True for at in range(3)})
    assert bound_of(registry, [names]) is None
    assert bound_of({}, [names]) is None


def test_what_grows_with_ever_new_names_is_not_bounded() -> None:
    assert bound_of(logging.root.manager.loggerDict, [logging.root.manager]) is None
    assert bound_of(threading._active, []) is None  # type: ignore[attr-defined]
    assert bound_of(sys.modules, []) is None


def test_references_to_cursors_are_bounded_by_those_that_live() -> None:
    connection = sqlite3.connect(":memory:")
    try:
        kept = [connection.cursor() for _ in range(5)]
        lengths = []
        for _ in range(1000):
            connection.execute("select 1")
            lists = [one for one in gc.get_referents(connection) if type(one) is list]
            first = lists[OF_CURSORS]
            found = bound_of(first, [connection])
            assert found is not None
            assert found.length <= 202 + len(kept) + 1
            assert len(first) <= found.length
            lengths.append(len(first))
        assert max(lengths) > 200 > min(lengths)
        assert sys.version_info < (3, 11) or [bound_of(one, [connection]) for one in lists[1:]] == [None]
        assert bound_of([], [{}]) is None
    finally:
        connection.close()
