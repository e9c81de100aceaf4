# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import synthetic_series as made

from vllm_soak.store.record import Arm
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.suspects import judge_containers

ENTRIES = "engine.cache.entries"


def beside(path: str, each: int, limit: int | None) -> dict[str, tuple[Outcome, str]]:
    """What is said of 10 entries a round below a limit, and of a container beside them."""
    rounds = range(1, 8)
    containers = [
        made.Container([10 * n for n in rounds], ENTRIES),
        made.Container([each * n for n in rounds], path),
    ]
    arm: Arm = made.arm([5e8] * 7, containers)
    arm.populations[:] = [
        replace(row, limit=limit, limit_name="Cache.n") if row.path == ENTRIES else row for row in arm.populations
    ]
    return {one.path: (one.outcome, finding.reason) for one, finding, _ in judge_containers(arm, made.PROCESS)}


def test_an_index_of_a_cache_that_may_be_bounded_is_as_open_as_the_cache() -> None:
    outcome, reason = beside("engine.cache.hits", 10, 300)["engine.cache.hits"]
    assert outcome is Outcome.INCONCLUSIVE
    assert "keeps step with engine.cache.entries" in reason


def test_what_grows_otherwise_or_elsewhere_is_a_leak() -> None:
    assert beside("engine.cache.hits", 11, 300)["engine.cache.hits"][0] is Outcome.LEAK
    assert beside("engine.other.hits", 10, 300)["engine.other.hits"][0] is Outcome.LEAK
    assert beside('engine.cache["hits"]', 10, 300)['engine.cache["hits"]'][0] is Outcome.LEAK


def test_without_a_limit_or_beyond_it_both_leak() -> None:
    for limit in (None, 60):
        found = beside("engine.cache.hits", 10, limit)
        assert {outcome for outcome, _ in found.values()} == {Outcome.LEAK}
