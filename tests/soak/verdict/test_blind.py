# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import synthetic_series as made

from vllm_soak.verdict.blind import ALWAYS, PYTHON_WALK, blind_spots


def test_a_complete_run_names_only_what_no_run_sees() -> None:
    assert blind_spots(made.arm([1.0] * 5), made.PROCESS) == list(ALWAYS)


def test_what_this_run_missed_comes_first() -> None:
    arm = made.arm([1.0] * 5)
    arm.censuses[1:3] = [replace(c, partial="stopped at 200 rows") for c in arm.censuses[1:3]]
    assert blind_spots(arm, made.PROCESS)[0] == "the census was partial: stopped at 200 rows"
    assert len(blind_spots(arm, made.PROCESS)) == 1 + len(ALWAYS)


def test_the_walk_in_python_sees_no_chains() -> None:
    arm = made.arm([1.0] * 5)
    arm.censuses[:] = [replace(c, walker="python+idset") for c in arm.censuses]
    assert blind_spots(arm, made.PROCESS) == [PYTHON_WALK, *ALWAYS]


def test_a_process_without_probe_is_said() -> None:
    spots = blind_spots(made.arm([1.0] * 5), "Worker")
    assert "no census" in spots[0]
    assert "bytes in use were not measured" in spots[1]
