# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.report.printable import plain_ascii, printable


@given(st.text())
def test_text_is_one_line_without_control_characters(text):
    shown = printable(text)
    assert all(char.isprintable() or char.isspace() for char in shown)
    assert len(shown.splitlines()) <= 1
    assert not set(shown) & set("\x00\x1b\x7f\x9b\u202e\t\n")


def test_a_terminal_escape_is_shown_and_not_sent():
    assert printable("cache['\x1b[2J\u202eok']") == "cache['\\x1b[2J\\u202eok']"
    assert printable("first\nsecond") == "first second"


def test_a_long_text_is_cut_and_shows_it():
    assert printable("x" * 50, 10) == "x" * 9 + "…"


@given(st.text())
def test_plain_ascii_is_ascii(text):
    assert plain_ascii(text).isascii()


def test_plain_ascii_keeps_the_drawing():
    assert plain_ascii("└─ a → b") == "`- a -> b"
