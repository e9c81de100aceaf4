# SPDX-License-Identifier: Apache-2.0
"""All patches under traffic of all kinds, on the engine's real scheduler: nothing is kept, and nobody loses anything.

What is compared with is always the engine as released, doing the same without a patch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.scheduler import prefix_cache
from vllm_soak.engines.mlx.turns import drain
from vllm_soak.patches.vllm_mlx.scheduler import entries
from vllm_soak.workloads.alphabet import random_tokens

pytestmark = pytest.mark.usefixtures("affected")
Engine = Any
Check = Callable[[Engine, dict[str, float]], None]
Make = Callable[[], Engine]
ALL = ("mtp-state", "prefix-cache-bytes", "hybrid-disk-tier", "batch-lists", "singleton-cycle")
LETTERS = 256


@pytest.fixture
def all_patches(patch: Callable[[str], Any]) -> Callable[[], None]:
    """Applies every patch that this release takes."""

    def apply() -> None:
        assert {patch(name).status.value for name in ALL} <= {"applied", "not-needed"}

    return apply


def text(name: str, tokens: int) -> list[int]:
    return random_tokens(name, tokens, LETTERS)


def step_until(engine: Engine, there: Callable[[], Any]) -> None:
    for _ in range(1000):
        if there():
            return
        engine.step()
    pytest.fail("it never happened")


def states(engine: Engine) -> dict[int, Any]:
    return dict(entries(engine.scheduler.batch_generator) or {})


def begun(engine: Engine, name: str) -> None:
    """A request in the midst of being decoded with the head."""
    engine.submit(name, text(name, 80), 64)
    step_until(engine, lambda: states(engine))
    engine.step()


def test_an_aborted_request_leaves_nothing(
    speculating: Make, all_patches: Callable[[], None], assert_nothing_kept: Check
) -> None:
    all_patches()
    engine = speculating()
    baseline = observe(engine.scheduler)
    begun(engine, "gone")
    engine.scheduler.abort_request("gone")
    engine.step()
    engine.scheduler.remove_finished_request("gone")
    assert not engine.busy()
    assert_nothing_kept(engine, baseline)


def failing(generator: Iterator[Any]) -> Iterator[Any]:
    """A generator that holds another one, and fails."""
    next(generator)
    yield from ()
    raise RuntimeError("injected")


def exhausted(entry: dict[str, Any]) -> None:
    entry["gen"].close()


def broken(entry: dict[str, Any]) -> None:
    entry["gen"] = failing(entry["gen"])


@pytest.mark.parametrize("fault", [exhausted, broken])
def test_a_generator_that_fails_leaves_nothing_and_the_engine_goes_on(
    speculating: Make,
    all_patches: Callable[[], None],
    assert_nothing_kept: Check,
    fault: Callable[[dict[str, Any]], None],
) -> None:
    def play_on(engine: Engine) -> tuple[list[str], list[int]]:
        begun(engine, "broken")
        for entry in states(engine).values():
            fault(entry)
            entry["queue"].clear()
        ended: list[str] = []
        for _ in range(5):
            if engine.busy():
                ended += [output.request_id for output in engine.scheduler.step().outputs if output.finished]
        engine.scheduler.remove_finished_request("broken")
        engine.submit("next", text("next", 50), 12)
        drain(engine)
        return ended, engine.reply("next")

    released = play_on(speculating())
    assert released[0] == ["broken"]
    all_patches()
    engine = speculating()
    baseline = observe(engine.scheduler)
    assert play_on(engine) == released
    assert_nothing_kept(engine, baseline)


def test_of_eight_the_first_to_finish_takes_nothing_from_the_others(
    speculating: Make, all_patches: Callable[[], None], assert_nothing_kept: Check
) -> None:
    def hold(engine: Engine) -> list[list[int]]:
        names = [f"one of eight {number}" for number in range(8)]
        for number, name in enumerate(names):
            engine.submit(name, text(name, 40 + number), 4 if number == 3 else 24)
        step_until(engine, lambda: names[3] in engine._replies)
        assert len(engine.scheduler.running) == 7
        drain(engine)
        return [engine.reply(name) for name in names]

    released = hold(speculating())
    assert [len(one) for one in released] == [24, 24, 24, 4, 24, 24, 24, 24]
    all_patches()
    engine = speculating()
    baseline = observe(engine.scheduler)
    assert hold(engine) == released
    assert_nothing_kept(engine, baseline)


@pytest.mark.parametrize("memory_aware", [True, False])
def test_two_that_share_a_prefix_and_a_prefix_cache(
    make_engine: Callable[..., Engine],
    all_patches: Callable[[], None],
    assert_nothing_kept: Check,
    memory_aware: bool,
) -> None:
    """The first is aborted in the midst of the second, which was begun from the same stored prompt."""

    def share(engine: Engine) -> list[list[int]]:
        prompt = text("shared", 120)
        engine.submit("before", prompt, 8)
        drain(engine)
        prompt += engine.reply("before")
        engine.submit("first", prompt + text("first", 20), 40)
        engine.submit("second", prompt + text("second", 30), 40)
        for _ in range(12):
            engine.step()
        engine.scheduler.abort_request("first")
        drain(engine)
        engine.scheduler.remove_finished_request("first")
        engine.submit("third", prompt + text("third", 20), 20)
        drain(engine)
        return [engine.reply(name) for name in ("second", "third")]

    def make() -> Engine:
        one_draft = {"mtp_disable_auto_k": True, "mtp_max_k": 1}  # left to itself it follows measured times
        return make_engine("qwen3_5-mtp", use_memory_aware_cache=memory_aware, cache_memory_mb=4, **one_draft)

    released = share(make())
    assert [len(one) for one in released] == [40, 20]
    all_patches()
    engine = make()
    baseline = observe(engine.scheduler)
    assert share(engine) == released
    prefix_cache(engine.scheduler).clear()
    assert_nothing_kept(engine, baseline)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(3, 60), st.integers(1, 12)),
        st.tuples(st.just("step"), st.integers(1, 6)),
        st.tuples(st.just("abort"), st.integers(0, 5)),
        st.tuples(st.just("finish"), st.integers(0, 5)),
    ),
    max_size=14,
)


def play(engine: Engine, actions: list[tuple[Any, ...]]) -> dict[str, list[int]]:
    """Do the actions, then drain; gives the replies of the requests that were not aborted."""
    mark = engine.steps
    names: list[str] = []
    aborted: set[str] = set()
    for action, *numbers in actions:
        if action == "add":
            names.append(f"r{mark}-{len(names)}")
            engine.submit(names[-1], text(f"play:{len(names)}", numbers[0]), numbers[1])
        elif action == "step":
            for _ in range(numbers[0]):
                if engine.busy():
                    engine.step()
        elif names:
            name = names[numbers[0] % len(names)]
            if action == "finish":
                step_until(engine, lambda name=name: name in aborted or name in engine._replies)
            elif name not in engine._replies and engine.scheduler.abort_request(name):
                aborted.add(name)
    drain(engine)
    for name in aborted:
        engine.scheduler.remove_finished_request(name)
    return {name.partition("-")[2]: engine.reply(name) for name in names if name not in aborted}


def test_after_any_traffic_nothing_is_kept_and_outputs_are_as_released(
    speculating: Make, all_patches: Callable[[], None], assert_nothing_kept: Check
) -> None:
    released = speculating()
    history: list[tuple[list[tuple[Any, ...]], dict[str, list[int]]]] = []

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(actions=ACTIONS)
    def as_released(actions: list[tuple[Any, ...]]) -> None:
        history.append((actions, play(released, actions)))

    as_released()
    all_patches()
    engine = speculating()
    baseline = observe(engine.scheduler)
    for actions, replies in history:
        assert play(engine, actions) == replies, actions
        assert_nothing_kept(engine, baseline)
