# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from vllm_soak.report.ladder import Role, draw_ladder, growth_text, patch_text
from vllm_soak.store.record import Step

DRAWN = """\
LEAK  EngineCore (pid 4711)   +14.0 objects/request   +123.9 B/request   8.85 B/object
  EngineCore
  └─ scheduler: AsyncScheduler
     └─ kv_cache_manager: KVCacheManager
        └─ coordinator: UnitaryKVCacheCoordinator
           └─ single_type_managers[0]: FullAttentionManager
              └─ new_block_ids: list      67,200 items (+8,400 in each of 5 rounds)
                 ~~~~~~~~~~~~~
  known defect: new-block-ids (vLLM PR 44490, 0.17.1-0.25.1)   patch: available, not applied
  explains 97 % of +374.2 KiB in-use growth; gc freed 0 B, trim returned 0 B"""


@pytest.fixture
def process(leak_verdict):
    return leak_verdict.arms[0].processes[0]


@pytest.fixture
def suspect(process):
    return process.suspects[0]


def test_the_ladder_of_the_design(process, suspect):
    assert str(draw_ladder("run", process, suspect)) == DRAWN


def test_it_fits_80_columns_without_losing_a_word(process, suspect):
    narrow = draw_ladder("run", process, suspect, 80)
    assert max(len(line.text) for line in narrow.lines) <= 80
    assert sorted(str(narrow).split()) == sorted(DRAWN.split())


def test_the_mark_and_the_underline_are_the_suspect_reference(process, suspect):
    for width in (None, 80):
        lines = draw_ladder("run", process, suspect, width).lines
        marked = next(line for line in lines if line.mark)
        start, end = marked.mark
        below = lines[lines.index(marked) + 1]
        assert marked.text[start:end] == "new_block_ids"
        assert below.role is Role.UNDERLINE
        assert below.text == " " * start + "~" * (end - start)


def test_indices_join_the_attribute_that_they_index(process, suspect):
    steps = [Step("caches", "dict"), Step('["a[b]"]', "list"), Step("[3]", "deque")]
    text = str(draw_ladder("run", process, replace(suspect, steps=steps)))
    assert '└─ caches["a[b]"][3]: deque' in text
    assert text.count("└─") == 1


def test_a_suspect_without_steps_shows_its_path(process, suspect):
    assert f"└─ {suspect.path}: list" in str(draw_ladder("run", process, replace(suspect, steps=[])))


def test_unequal_growth_is_listed():
    assert growth_text([28000, 27990, 0]) == "+28,000, +27,990, 0 in 3 rounds"
    assert growth_text([5] * 5) == "+5 in each of 5 rounds"
    assert growth_text([]) == "no measured round"
    assert growth_text(list(range(1, 20))) == "+1, +2, +3, +4, …, +17, +18, +19 in 19 rounds"


@pytest.mark.parametrize(
    ("status", "start"),
    [("", "available"), ("disabled", "available"), ("applied", "applied"), ("drifted", "drifted"), ("x", "x")],
)
def test_a_patch_status_says_what_to_expect(status, start):
    assert patch_text(status).startswith(start)


def test_no_share_is_claimed_of_memory_that_did_not_grow(process, suspect):
    shrunk = replace(process, reconciliation=replace(process.reconciliation, growth=-5.0))
    text = str(draw_ladder("run", shrunk, suspect))
    assert "explains" not in text
    assert "accounts for +363.0 KiB, while bytes in use moved by -5 B;" in text


def test_an_unknown_leak_says_so(process, suspect):
    assert "known defect: none on this path" in str(draw_ladder("run", process, replace(suspect, known_defect="")))


def test_bytes_that_are_a_lower_bound_are_said_to_be(process, suspect):
    text = str(draw_ladder("run", process, replace(suspect, bytes_at_least=True)))
    assert "at least +123.9 B/request   at least 8.85 B/object" in text
    assert "explains at least 97 %" in text
    assert "at least" not in DRAWN


def test_more_than_all_of_the_growth_is_all_of_it(leak_verdict):
    process = leak_verdict.arms[0].processes[0]
    suspect = process.suspects[0]
    parts = replace(process.reconciliation, growth=1000.0)
    text = str(draw_ladder("run", replace(process, reconciliation=parts), suspect))
    assert "explains all of +1,000 B" in text


def test_new_entries_that_look_alike_are_shown_once(process, suspect):
    alike = replace(suspect, samples=["str[36]: Request(id=str[36])"] * 2 + ["None: int"])
    lines = str(draw_ladder("run", process, alike)).splitlines()
    assert lines[-2:] == ["  new entries: str[36]: Request(id=str[36])", "               None: int"]
    assert "new entries" not in str(draw_ladder("run", process, suspect))


def test_a_known_defect_without_a_patch_says_what_helps(leak_verdict):
    process = leak_verdict.arms[0].processes[0]
    suspect = replace(process.suspects[0], patch_status="none", workaround="start with another flag")
    assert "patch: none; start with another flag" in str(draw_ladder("run", process, suspect))
