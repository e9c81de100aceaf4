# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vllm_soak.report.markdown import escape, fenced, render_markdown


def test_the_page_has_ladder_table_and_plots(ab_run, ab_verdict):
    text = render_markdown(ab_run, ab_verdict, [Path("plots/length.png")])
    assert text.startswith("# LEAK FOUND, AND FIXED BY THE PATCH\n")
    assert "└─ new_block_ids: list" in text
    assert "| measured rounds | unpatched | patched |\n|---|---:|---:|\n" in text
    assert "| length of new\\_block\\_ids | 25,200 → 67,200 (+42,000) | 0 → 0 (no growth) |" in text
    assert "![length](plots/length.png)" in text


def test_every_row_of_the_table_has_the_same_number_of_cells(ab_run, ab_verdict):
    rows = [line for line in render_markdown(ab_run, ab_verdict, []).splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {4}


def test_text_from_an_engine_is_not_markup(leak_run, leak_verdict):
    hostile = "<script>x</script> | [a](b) `c` *d*"
    text = render_markdown(leak_run, replace(leak_verdict, reason=hostile), [])
    assert "<script>" not in text
    assert escape("a_b|c") == "a\\_b\\|c"


def test_a_fence_is_longer_than_what_it_holds():
    assert fenced("a ```` b").startswith("`````text\n")


def test_a_run_that_was_cut_short_says_so(leak_run, leak_verdict):
    assert "> **Warning:** the run was cut short" in render_markdown(
        replace(leak_run, status="running"), leak_verdict, []
    )
