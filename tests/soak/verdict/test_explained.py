# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic_series as made

from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.suspects import judge_containers

ROUNDS = range(1, 8)


def judged(weak: str = "", **each: int) -> list[tuple[str, str]]:
    """Paths and outcomes of containers that gain so many entries a round; the one named `weak` keeps nothing alive."""
    containers = [made.Container([step * n for n in ROUNDS], path, entry=100.0) for path, step in each.items()]
    arm = made.arm([5e8] * 7, containers)
    arm.populations[:] = [
        replace(row, path=row.path.replace("unrooted", "<no root: dict>"), weak="a WeakSet" if row.path == weak else "")
        for row in arm.populations
    ]
    return [(one.path, one.outcome.value) for one, _, _ in judge_containers(arm, made.PROCESS)]


def test_what_holds_as_many_entries_explains_a_weak_registry() -> None:
    assert judged("registry", registry=100, holder=100) == [("holder", "leak")]


def test_a_weak_registry_that_nothing_explains_is_told_last() -> None:
    assert judged("registry", registry=100) == [("registry", "leak")]
    assert judged("registry", registry=100, holder=10) == [("holder", "leak"), ("registry", "leak")]


def test_a_registry_says_why_it_is_no_cause() -> None:
    arm = made.arm([5e8] * 7, [made.Container([100 * n for n in ROUNDS], "registry")])
    arm.populations[:] = [replace(row, weak="a WeakSet keeps nothing alive") for row in arm.populations]
    [(found, finding, _)] = judge_containers(arm, made.PROCESS)
    assert found.reason == f"{finding.reason}; a WeakSet keeps nothing alive"


def test_objects_without_a_root_are_told_after_all_others_and_not_when_a_leak_brings_them() -> None:
    assert judged(unrooted=51, threads=10) == [("threads", "leak")]
    assert judged(unrooted=500, threads=10) == [("threads", "leak"), ("<no root: dict>", "leak")]
    assert judged(unrooted=500) == [("<no root: dict>", "leak")]


def test_a_cache_explains_nothing() -> None:
    arm = made.arm(
        [5e8] * 7,
        [
            made.Container([100 * n for n in ROUNDS], "cache", bound=10**6),
            made.Container([100 * n for n in ROUNDS], "<no root: dict>"),
        ],
    )
    found = judge_containers(arm, made.PROCESS)
    assert [(one.path, one.outcome) for one, _, _ in found] == [
        ("<no root: dict>", Outcome.LEAK),
        ("cache", Outcome.BOUNDED),
    ]


@pytest.mark.parametrize(("started", "known"), [(10, []), (20, []), (5, ["threading._active"])])
def test_a_pool_that_fills_explains_the_threads_that_it_starts(started: int, known: list[str]) -> None:
    """Two pools, of which one starts five threads a round."""
    pools = [(5, "app.one._threads"), (started - 5, "app.two._threads")]
    containers = [made.Container([each * n for n in ROUNDS], path, bound=200) for each, path in pools if each]
    arm = made.arm([5e8] * 7, [*containers, made.Container([10 * n for n in ROUNDS], "threading._active")])
    leaks = [one.path for one, _, _ in judge_containers(arm, made.PROCESS) if one.outcome is Outcome.LEAK]
    assert leaks == known


def test_what_is_no_registry_of_threads_is_not_explained_by_a_pool() -> None:
    paths = {"app.pool._threads": 100, "app.registry": None}
    containers = [made.Container([10 * n for n in ROUNDS], path, bound=bound) for path, bound in paths.items()]
    found = judge_containers(made.arm([5e8] * 7, containers), made.PROCESS)
    assert [one.path for one, _, _ in found if one.outcome is Outcome.LEAK] == ["app.registry"]


def test_what_abc_remembers_of_classes_is_no_suspect() -> None:
    arm = made.arm([5e8] * 7, [made.Container([100 * n for n in ROUNDS], "app.Base._abc_impl.<set>")])
    arm.populations[:] = [replace(row, weak="a _abc_data keeps nothing alive") for row in arm.populations]
    assert judge_containers(arm, made.PROCESS) == []


def named(rows: dict[str, list[int]], upper: str = "function") -> list[str]:
    """Paths of the leaks among containers of so many entries after each round; the first one is of a type."""
    arm = made.arm([5e8] * 7, [made.Container(lengths, path, entry=100.0) for path, lengths in rows.items()])
    first = next(iter(rows))
    arm.populations[:] = [replace(row, type=upper) if row.path == first else row for row in arm.populations]
    return [one.path for one, _, _ in judge_containers(arm, made.PROCESS)]


def test_functions_that_entries_further_down_bring_along_are_no_leak_of_their_own() -> None:
    pool, below = [140 * n for n in ROUNDS], [10 * n for n in ROUNDS]
    both = {"step.__func__": pool, "step.__func__.<orig>.<_state>": below}
    assert named(both) == ["step.__func__.<orig>.<_state>"]
    assert named(both, "dict") == list(both)
    assert named({"step": pool, "steps[*].<_state>": below}) == ["step", "steps[*].<_state>"]
    uneven = [pool[n] + n % 3 for n in range(7)]
    assert named({"step.__func__": uneven, "step.__func__.<_state>": below})[0] == "step.__func__"
