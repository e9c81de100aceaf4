# SPDX-License-Identifier: Apache-2.0
"""Who named the leak, at which rank, and when that was conclusive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

LINES = [277, 310]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/e/vllm/v1/core/single_type_kv_cache_manager.py:277: +34560 B", "line"),
        ('File "/e/single_type_kv_cache_manager.py", line 310 self.new_block_ids.extend(', "line"),
        ("/e/vllm/v1/core/single_type_kv_cache_manager.py:278: 12 B", "nothing"),
        ("/e/vllm/v1/core/block_pool.py:310: 9000 B", "nothing"),
        ("leak: MainThread/serve engine.scheduler.single_type_managers[0].new_block_ids", "path"),
        ("Root._f0_f_locals['x'].__dict__['single_type_managers'][0].__dict__['new_block_ids']", "path"),
        ("Root.t1.new_block_ids_to_zero", "nothing"),
        ("list 123 +4", "nothing"),
    ],
)
def test_code_decides_what_a_finding_names(text, expected):
    from rivals.evidence import named

    assert named(text, LINES) == expected


def test_the_lines_are_those_that_make_the_list_longer():
    from rivals.evidence import growing_lines

    source = (
        "self.new_block_ids = []\nself.new_block_ids.extend(x)\nids = self.new_block_ids\nself.new_block_ids += y\n"
    )
    assert growing_lines(source) == [2, 4]


@given(st.lists(st.sampled_from([None, 1, 1, 1, 2, 7])))
def test_conclusive_is_the_end_of_the_first_three_firsts_in_a_row(ranks):
    from rivals.evidence import conclusive

    readings = [{"rank": rank, "requests": 200 * at} for at, rank in enumerate(ranks, 1)]
    firsts = [at for at in range(3, len(ranks) + 1) if ranks[at - 3 : at] == [1, 1, 1]]
    assert conclusive(readings) == (200 * firsts[0] if firsts else None)


@given(st.lists(st.sampled_from(["int 5", "a.single_type_managers[0].new_block_ids"])))
def test_the_rank_is_that_of_the_first_finding_that_names_it(findings):
    from rivals.evidence import place

    wanted = [at for at, text in enumerate(findings, 1) if "managers" in text]
    assert place(findings, []) == (("path", wanted[0]) if wanted else ("nothing", None))


def record(requests, lengths):
    rows = [
        {"path": path, "template": path, "fingerprint": path, "type": "list", "length": length, "shallow_bytes": 56}
        | {"bound": bound, "bound_reason": "so many blocks" if bound else "", "grown": 14 * 200}
        for path, (length, bound) in lengths.items()
    ]
    census = {"objects": 9, "containers": 9, "seconds": 0.1, "walker": "python", "partial": "", "populations": rows}
    return {"requests": requests, "process": "LLM", "values": {"in_use": 1e9}, "census": census}


def test_our_own_answer_is_the_verdict_over_the_rounds():
    from rivals.verdict import judged

    path = "engine.single_type_managers[0].new_block_ids"
    counts = range(0, 1001, 200)
    records = [record(n, {path: (5000 + 14 * n, None), "cache": (100 + 14 * n, 30_000)}) for n in counts]
    records[0] = record(0, {})  # the census that the first window is compared with names nothing
    found = judged(records)
    assert found["conclusive"] == 600
    assert found["leaks"] == [path]
    assert [reading["rank"] for reading in found["readings"]] == [None, None, 1, 1, 1]
