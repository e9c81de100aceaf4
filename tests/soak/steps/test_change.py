# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_soak.steps.change import FEWEST, FEWEST_ALIKE, find_among, find_change, wander
from vllm_soak.steps.crowd import Crowd, alike

EFFECT = 0.18
FEWEST_BEFORE, FEWEST_AFTER = FEWEST
CALM, BUSY = Crowd(0.1, 0.05), Crowd(0.8, 0.5)
seeds = st.integers(0, 2**32 - 1)


def series(seed: int, ratios: list[float], spread: float = 0.03) -> list[float]:
    """Levels with noise around them."""
    noise = np.random.default_rng(seed).normal(0, spread, len(ratios))
    return [0.27 * ratio * float(np.exp(one)) for ratio, one in zip(ratios, noise, strict=True)]


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(1.3, 4.0), st.booleans(), st.integers(FEWEST_BEFORE + 4, 46), st.integers(FEWEST_AFTER, 14))
def test_a_step_is_found_where_it_is(seed: int, ratio: float, up: bool, before: int, after: int) -> None:
    ratio = ratio if up else 1 / ratio
    found = find_change(series(seed, [1.0] * before + [ratio] * after), EFFECT)
    assert found is not None
    assert abs(found.at - before) <= 1
    assert found.ratio == pytest.approx(ratio, rel=0.15)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(28, 60), st.floats(0.0, 0.05))
def test_noise_around_one_level_is_no_step(seed: int, length: int, spread: float) -> None:
    assert find_change(series(seed, [1.0] * length, spread), EFFECT) is None


@settings(max_examples=30, deadline=None)
@given(seeds, st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter(seed: int, unit: float) -> None:
    values = series(seed, [1.0] * 40 + [1.4] * 10)
    ours, theirs = find_change(values, EFFECT), find_change([unit * value for value in values], EFFECT)
    assert ours is not None
    assert theirs is not None
    assert (ours.at, ours.ratio) == (theirs.at, pytest.approx(theirs.ratio))


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(24, 50), st.integers(1, 6), st.floats(1.5, 5.0))
def test_a_burst_that_passes_is_no_step(seed: int, before: int, length: int, height: float) -> None:
    values = series(seed, [1.0] * before + [height] * length + [1.0] * 10)
    assert all(find_change(values[:end], EFFECT) is None for end in range(32, len(values) + 1))


def test_a_change_below_the_least_is_none() -> None:
    assert find_change(series(1, [1.0] * 40 + [1.1] * 12), EFFECT) is None


def test_what_the_series_does_by_itself_is_no_step() -> None:
    # It has gone up by 30 % for three quarters of a minute before, and come back: it may do so again.
    values = [1.0] * 20 + [1.3] * 9 + [1.0] * 20
    assert find_change([*values, *[1.3] * 9], EFFECT) is None
    assert find_change([*values, *[2.0] * 9], EFFECT) is not None


def test_a_drift_is_no_step() -> None:
    ramp = list(np.linspace(1.0, 1.25, 60))
    assert find_change(series(3, ramp, 0.02), EFFECT) is None


def test_too_little_says_nothing() -> None:
    assert find_change([1.0] * (FEWEST_BEFORE - 1) + [5.0] * 20, EFFECT) is None
    assert find_change([], EFFECT) is None


def test_a_series_without_any_noise_has_its_step() -> None:
    found = find_change([1.0] * 30 + [1.5] * 9, EFFECT)
    assert found is not None
    assert (found.at, found.before, found.after) == (30, 1.0, 1.5)
    assert find_change([1.0] * 60, EFFECT) is None


def test_wander_is_the_farthest_that_any_stretch_was_off() -> None:
    logs = np.zeros(30)
    logs[10:14] = 0.5
    assert wander(logs, 4) == 0.5
    assert wander(logs, 12) == 0.0


@settings(max_examples=40, deadline=None)
@given(seeds, st.floats(1.3, 3.0))
def test_a_step_that_bursts_of_others_hide_shows_among_bins_that_are_alike(seed: int, ratio: float) -> None:
    bursts = [at % 4 == 0 for at in range(44)]
    ratios = [(ratio if at >= 34 else 1.0) * (2.5 if burst else 1.0) for at, burst in enumerate(bursts)]
    values, places = series(seed, ratios), alike([BUSY if burst else CALM for burst in bursts], FEWEST_ALIKE[1])
    found = find_among(values, places, EFFECT)
    assert found is not None
    assert abs(found.at - 34) <= 2
    assert found.ratio == pytest.approx(ratio, rel=0.15)
    assert len(places) - places.index(found.at) >= FEWEST_ALIKE[1]


@settings(max_examples=40, deadline=None)
@given(seeds, st.floats(1.5, 5.0))
def test_what_comes_with_waiting_is_no_step_among_bins_that_are_alike(seed: int, ratio: float) -> None:
    values = series(seed, [1.0] * 34 + [ratio] * 10)
    assert find_among(values, alike([CALM] * 34 + [BUSY] * 10, FEWEST_ALIKE[1]), EFFECT) is None
