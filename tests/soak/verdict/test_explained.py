# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

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
