# SPDX-License-Identifier: Apache-2.0
"""`mtp-state` on the engine's real scheduler, decoding with a real (random) MTP head."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.turns import chat, drain
from vllm_soak.patches.vllm_mlx.scheduler import entries
from vllm_soak.patching.registry import MTP_STATE
from vllm_soak.workloads.alphabet import random_tokens

AFFECTED = {"0.9.13", "0.10.0", "0.10.18", "0.12.18", "0.13.1"}
Engine = Any
NOISE = 50_000  # bytes of active memory


@pytest.fixture
def affected(release: tuple[str, str]) -> None:
    if release[0] != "rapid-mlx" or release[1] not in AFFECTED:
        pytest.skip("this release does not have the defect")


def active(engine: Engine) -> float:
    return observe(engine.scheduler)["mlx_active"]


def assert_nothing_kept(engine: Engine, baseline: float) -> None:
    found = observe(engine.scheduler)
    assert found["mtp_entries"] == 0
    assert (found["ssm_arrays"], found["kv_arrays"]) == (0, 0)
    assert found["mlx_active"] == pytest.approx(baseline, abs=NOISE)


def test_status_here(release: tuple[str, str], patch: Callable[[str], Any]) -> None:
    status = patch("mtp-state").status.value
    assert status == ("applied" if release[0] == "rapid-mlx" and release[1] in AFFECTED else "not-needed")


@pytest.mark.usefixtures("affected")
def test_as_released_every_turn_leaves_its_caches_behind(mtp_engine: Engine) -> None:
    seen: list[float] = []
    chat(mtp_engine, turns=4, tokens=100, after=lambda: seen.append(active(mtp_engine)))
    assert all(later > earlier + NOISE for earlier, later in pairwise(seen)), seen
    assert len(entries(mtp_engine.scheduler.batch_generator) or ()) == 5  # the fixture's own request too
    assert observe(mtp_engine.scheduler)["ssm_arrays"] == 15
    assert MTP_STATE.present(mtp_engine.scheduler) is True


@pytest.mark.usefixtures("affected")
def test_patched_every_turn_ends_where_it_began(make_engine: Any, patch: Callable[[str], Any]) -> None:
    patch("mtp-state")
    engine = make_engine("qwen3_5-mtp", enable_prefix_cache=False)
    baseline = active(engine)
    chat(engine, turns=8, tokens=100, after=lambda: assert_nothing_kept(engine, baseline))
    assert observe(engine.scheduler)["mtp_vendored_steps"] == 64  # it was speculating all the time
    assert MTP_STATE.present(engine.scheduler) is False


@pytest.mark.usefixtures("affected")
def test_outputs_and_accepted_tokens_are_those_of_the_engine_as_released(
    make_engine: Any, patch: Callable[[str], Any]
) -> None:
    def run() -> tuple[list[list[int]], dict[str, float]]:
        engine = make_engine("qwen3_5-mtp", enable_prefix_cache=False)
        replies = chat(engine, turns=4, tokens=60, output_len=24)
        found = observe(engine.scheduler)
        return replies, {name: value for name, value in found.items() if name.startswith("mtp_") and "entr" not in name}

    released = run()
    assert patch("mtp-state").status.value == "applied"
    assert run() == released


@pytest.mark.usefixtures("affected")
def test_an_aborted_request_leaves_nothing(make_engine: Any, patch: Callable[[str], Any]) -> None:
    patch("mtp-state")
    engine = make_engine("qwen3_5-mtp", enable_prefix_cache=False)
    baseline = active(engine)
    engine.submit("gone", random_tokens("gone", 80, 256), 64)
    while len(entries(engine.scheduler.batch_generator) or ()) == 0:
        engine.step()
    engine.step()
    engine.scheduler.abort_request("gone")
    engine.step()
    engine.scheduler.remove_finished_request("gone")
    assert not engine.busy()
    assert_nothing_kept(engine, baseline)


@pytest.mark.usefixtures("affected")
def test_a_generator_that_fails_leaves_nothing(make_engine: Any, patch: Callable[[str], Any]) -> None:
    patch("mtp-state")
    engine = make_engine("qwen3_5-mtp", enable_prefix_cache=False)
    baseline = active(engine)
    engine.submit("broken", random_tokens("broken", 80, 256), 64)
    while not entries(engine.scheduler.batch_generator):
        engine.step()
    for entry in (entries(engine.scheduler.batch_generator) or {}).values():
        entry["gen"].close()  # upstream then finds it exhausted, and recovers
        entry["queue"].clear()
    outputs = engine.scheduler.step().outputs
    assert [(output.request_id, output.finished) for output in outputs] == [("broken", True)]
    engine.scheduler.remove_finished_request("broken")
    assert observe(engine.scheduler)["mlx_active"] == pytest.approx(baseline, abs=NOISE)
    chat(engine, turns=1, tokens=50)  # and it goes on
    assert_nothing_kept(engine, baseline)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(3, 60), st.integers(1, 12)),
        st.tuples(st.just("step"), st.integers(1, 6)),
        st.tuples(st.just("abort"), st.integers(0, 5)),
    ),
    max_size=14,
)


def play(engine: Engine, actions: list[tuple[Any, ...]]) -> dict[str, list[int]]:
    """Do the actions, then drain; gives the replies of the requests that were not aborted."""
    mark = engine.steps
    names: list[str] = []
    aborted = set()
    for action, *numbers in actions:
        if action == "add":
            names.append(f"r{mark}-{len(names)}")
            engine.submit(names[-1], random_tokens(f"play:{len(names)}", numbers[0], 256), numbers[1])
        elif action == "step":
            for _ in range(numbers[0]):
                if engine.busy():
                    engine.step()
        elif names:
            name = names[numbers[0] % len(names)]
            if engine.scheduler.abort_request(name):
                aborted.add(name)
    drain(engine)
    for name in aborted:
        engine.scheduler.remove_finished_request(name)
    return {name.partition("-")[2]: engine.reply(name) for name in names if name not in aborted}


@pytest.mark.usefixtures("affected")
def test_after_any_traffic_nothing_is_kept_and_outputs_are_as_released(
    make_engine: Any, patch: Callable[[str], Any]
) -> None:
    released = make_engine("qwen3_5-mtp", enable_prefix_cache=False)
    history: list[tuple[list[tuple[Any, ...]], dict[str, list[int]]]] = []

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(actions=ACTIONS)
    def as_released(actions: list[tuple[Any, ...]]) -> None:
        history.append((actions, play(released, actions)))

    as_released()
    patch("mtp-state")
    engine = make_engine("qwen3_5-mtp", enable_prefix_cache=False)
    baseline = active(engine)
    for actions, replies in history:
        assert play(engine, actions) == replies
        found = observe(engine.scheduler)
        assert found.get("mtp_entries", 0) == 0
        assert found["mlx_active"] == pytest.approx(baseline, abs=NOISE), actions
