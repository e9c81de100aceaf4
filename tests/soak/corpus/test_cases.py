# SPDX-License-Identifier: Apache-2.0
"""Every case can be run: its flags make a plan, its scenario exists, its names are apart."""

from __future__ import annotations

import importlib.util

import pytest

from vllm_soak.environments.releases import parse_release
from vllm_soak.plan import Plan
from vllm_soak.plan_check import check_plan


def test_every_case_makes_a_plan(cases, tmp_path):
    for case in cases.values():
        check_plan(Plan(**{"engine": case.engine, **case.flags, "run_dir": tmp_path}))
        assert parse_release(case.engine).version == case.engine.partition("==")[2]


def test_every_scenario_is_a_module_that_the_host_knows_or_a_load_process(cases):
    from corpus.host import SCENARIOS

    scenarios = {case.scenario for case in cases.values() if case.scenario}
    assert all(importlib.util.find_spec(f"corpus.{name}") for name in scenarios)
    assert scenarios - {"responses"} == set(SCENARIOS)


def test_all_of_the_corpus_are_there_and_every_defect_has_its_control(cases, command):
    assert len({case.defect for case in cases.values()}) == 12
    for defect in ("kv-eviction-events", "responses-store", "request-block-hasher-cycle", "lora-stats"):
        found = command.chosen([defect])
        assert len({case.expected.outcomes for case in found}) == len(found) == 2


def test_a_case_is_chosen_by_name_and_an_unknown_one_refused(command, cases, capsys):
    assert [case.name for case in command.chosen(["lora-stats/0.11.0"])] == ["lora-stats/0.11.0"]
    assert len(command.chosen([])) == len(cases)
    with pytest.raises(SystemExit) as refused:
        command.chosen(["lora"])
    assert refused.value.code == 64
    assert "there is no case 'lora'" in capsys.readouterr().err
