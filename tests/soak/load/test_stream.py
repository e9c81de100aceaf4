# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.load.stream import LONGEST_LINE, EventSplitter

events = st.lists(st.binary(max_size=30).map(lambda raw: raw.hex().encode()), max_size=8)


@settings(deadline=None)
@given(events, st.lists(st.integers(1, 40)), st.sampled_from([b"\n", b"\r\n"]))
def test_events_survive_any_cut(wanted: list[bytes], cuts: list[int], end: bytes) -> None:
    raw = b": a comment" + end + b"".join(b"data: " + one + end + end for one in wanted)
    splitter, found, at = EventSplitter(), [], 0
    for cut in [*cuts, len(raw)]:
        found += splitter.feed(raw[at : at + cut])
        at += cut
    assert found == wanted


def test_a_line_without_an_end_is_not_kept_for_ever() -> None:
    splitter = EventSplitter()
    half = bytes(LONGEST_LINE // 2 + 1)
    splitter.feed(half)
    with pytest.raises(ValueError, match="longer than 16 MiB"):
        splitter.feed(half)
