# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import struct
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from vllm_soak.report.figure import as_png, as_svg
from vllm_soak.report.plots import draw, plan_plots


def test_three_plots_with_both_arms_in_each(ab_run, ab_verdict):
    memory, length, latency = plan_plots(ab_run, ab_verdict)
    assert [one.name for one in (memory, length, latency)] == ["in-use", "length", "latency"]
    assert [trace.label for trace in memory.traces] == ["unpatched", "patched"]
    assert length.caption == "Length of new_block_ids: unpatched 8,400 → 67,200; patched 0 → 0."
    assert len(latency.traces) == 4


def test_growth_begins_at_zero_and_names_its_unit(ab_run, ab_verdict):
    memory = plan_plots(ab_run, ab_verdict)[0]
    assert [trace.curve.values[0] for trace in memory.traces] == [0.0, 0.0]
    assert memory.title == "Growth of bytes in use, EngineCore [KiB]"
    assert memory.scale == 1024


def test_arms_that_warmed_up_for_a_different_time_begin_together(ab_run, ab_verdict):
    unpatched, patched = ab_run.arms
    later = replace(patched, samples=[replace(one, requests=one.requests + 8000) for one in patched.samples])
    memory, *_, latency = plan_plots(replace(ab_run, arms=[unpatched, later]), ab_verdict)
    first, second = (trace.curve for trace in memory.traces)
    assert first.requests == second.requests == [0, 600, 1200, 1800, 2400, 3000]
    assert draw(memory).axes[0].get_xlabel() == "requests in the measured rounds"
    assert draw(latency).axes[0].get_xlabel() == "requests completed"


def test_an_arm_that_no_census_names_is_told_in_the_caption(ab_run, ab_verdict):
    unpatched, patched = ab_run.arms
    patched = replace(patched, samples=[replace(one, lengths={}) for one in patched.samples])
    length = plan_plots(replace(ab_run, arms=[unpatched, patched]), ab_verdict)[1]
    assert length.caption.endswith("; patched did not grow.")


def test_a_run_without_series_has_no_plots(ab_run, ab_verdict):
    bare = [replace(arm, samples=[], rounds=[], populations=[]) for arm in ab_run.arms]
    assert plan_plots(replace(ab_run, arms=bare), ab_verdict) == []


def test_the_axis_begins_at_zero_unless_values_are_negative(ab_run, ab_verdict):
    memory, length, _ = plan_plots(ab_run, ab_verdict)
    assert draw(length).axes[0].get_ylim()[0] == 0
    lowest = min(value for trace in memory.traces for value in trace.curve.values)
    assert draw(memory).axes[0].get_ylim()[0] <= min(lowest / memory.scale, 0)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_labels_at_the_ends_do_not_overlap(ab_run, ab_verdict, place):
    plot = plan_plots(ab_run, ab_verdict)[place]
    axes = draw(plot).axes[0]
    labels = {trace.label for trace in plot.traces}
    heights = sorted(text.get_position()[1] for text in axes.texts if text.get_text() in labels)
    assert all(high - low >= 0.079 for low, high in pairwise(heights))


def test_a_png_is_large_enough_for_a_page(ab_run, ab_verdict):
    data = as_png(draw(plan_plots(ab_run, ab_verdict)[0]))
    width, height = struct.unpack(">II", data[16:24])
    assert data.startswith(b"\x89PNG")
    assert (width, height) == (860, 600)


def test_an_svg_has_names_of_its_own_and_the_colours_of_the_page(ab_run, ab_verdict):
    first, second = (as_svg(draw(one), one.name) for one in plan_plots(ab_run, ab_verdict)[:2])
    for svg in (first, second):
        ET.fromstring(svg)
        assert "var(--first)" in svg
        assert "#d55e00" not in svg
        assert not re.search(r"<svg[^>]*\swidth=", svg)
    identifiers = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, second)]
    assert identifiers[0]
    assert not identifiers[0] & identifiers[1]


def test_hostile_names_stay_text(leak_run, leak_verdict):
    process = leak_verdict.arms[0].processes[0]
    name = "</text><script>$x^{2}$"
    samples = [replace(one, process=name) for one in leak_run.arms[0].samples]
    run = replace(leak_run, arms=[replace(leak_run.arms[0], samples=samples)])
    arm = replace(leak_verdict.arms[0], processes=[replace(process, process=name)])
    svg = as_svg(draw(plan_plots(run, replace(leak_verdict, arms=[arm]))[0]), "x")
    assert "<script" not in svg
    assert "$x^{2}$" in svg


def test_allocated_bytes_are_drawn_where_they_were_measured(leak_run, leak_verdict):
    arm = leak_run.arms[0]
    samples = [replace(one, values={**one.values, "allocated": 1e6 + one.requests * 1024}) for one in arm.samples]
    plots = plan_plots(replace(leak_run, arms=[replace(arm, samples=samples)]), leak_verdict)
    assert [one.name for one in plots] == ["in-use", "allocated", "length", "latency"]
    assert plots[1].caption == "Growth of bytes allocated over the measured rounds: run +2.9 MiB."
