# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.steps.crowd import Crowd, alike, mean_crowd

crowds = st.builds(Crowd, st.floats(0, 3), st.floats(0, 1))


@given(crowds)
def test_a_moment_resembles_itself(one):
    assert one.resembles(one)


def test_neither_waiting_nor_a_neighbour_without_it_is_overlooked():
    calm = Crowd(0.08, 0.02)
    assert Crowd(0.12, 0.05).resembles(calm)
    assert not Crowd(0.5, 0.02).resembles(calm)
    assert not Crowd(0.08, 0.4).resembles(calm)


def test_alike_are_those_that_resemble_the_newest():
    calm, busy = Crowd(0.05, 0.0), Crowd(0.9, 0.6)
    assert alike([calm] * 5 + [busy] * 3 + [None] + [calm] * 10, 6) == [*range(5), *range(9, 19)]
    assert alike([calm] * 20 + [busy] * 6, 6) == list(range(20, 26))
    assert alike([None] * 20, 6) == []
    assert alike([], 6) == []


def test_a_mean_of_moments():
    assert mean_crowd([Crowd(0.0, 0.2), Crowd(1.0, 0.4)]) == Crowd(0.5, (0.2 + 0.4) / 2)
    assert mean_crowd([]) is None
