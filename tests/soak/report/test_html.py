# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from vllm_soak.report.html import render_html

VOID = {"meta", "link", "br", "img"}


class Outline(HTMLParser):
    """Checks that elements nest, and collects texts and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.addresses, self.tags = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in {"src", "href", "data"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def outline(page):
    found = Outline()
    found.feed(page)
    assert found.open == []
    return found


def test_the_page_is_whole_and_loads_nothing(ab_run, ab_verdict):
    page = render_html(ab_run, ab_verdict, [('<svg><path d="M0 0"></path></svg>', "a caption")])
    found = outline(page)
    assert found.addresses == []
    assert not re.search(r"https?://|@import|url\(", page)
    assert "script" not in found.tags
    text = "".join(found.texts)
    assert "└─ new_block_ids: list      67,200 items (+8,400 in each of 5 rounds)" in text
    assert "a caption" in text


def test_it_follows_the_colours_of_the_reader_and_fits_a_phone(ab_run, ab_verdict):
    page = render_html(ab_run, ab_verdict, [])
    assert "prefers-color-scheme: dark" in page
    assert 'content="width=device-width, initial-scale=1"' in page


def test_text_from_an_engine_is_not_markup(leak_run, leak_verdict):
    hostile = "<script>alert(1)</script> {{ 7 * 7 }} \"'&"
    process = leak_verdict.arms[0].processes[0]
    suspect = replace(process.suspects[0], path=hostile, steps=[], known_defect=hostile)
    arm = replace(leak_verdict.arms[0], processes=[replace(process, process=hostile, suspects=[suspect])])
    run = replace(leak_run, arms=[replace(leak_run.arms[0], failure=hostile)])
    found = outline(render_html(run, replace(leak_verdict, reason=hostile, arms=[arm]), [("<svg></svg>", hostile)]))
    assert "script" not in found.tags
    assert "{{ 7 * 7 }}" in "".join(found.texts)
