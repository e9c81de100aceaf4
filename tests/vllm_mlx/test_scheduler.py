# SPDX-License-Identifier: Apache-2.0
"""`mtp-state` on the engine's real scheduler, decoding with a real (random) MTP head."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from vllm_soak.engines.mlx.observe import observe
from vllm_soak.engines.mlx.turns import chat
from vllm_soak.patches.vllm_mlx.scheduler import entries
from vllm_soak.patching.registry import MTP_STATE

Engine = Any
NOISE = 50_000  # bytes of active memory


def active(engine: Engine) -> float:
    return observe(engine.scheduler)["mlx_active"]


def test_status_here(has_defect: bool, patch: Callable[[str], Any]) -> None:
    assert patch("mtp-state").status.value == ("applied" if has_defect else "not-needed")


@pytest.mark.usefixtures("affected")
def test_as_released_every_turn_leaves_its_caches_behind(mtp_engine: Engine) -> None:
    seen: list[float] = []
    chat(mtp_engine, turns=4, tokens=100, after=lambda: seen.append(active(mtp_engine)))
    assert all(later > earlier + NOISE for earlier, later in pairwise(seen)), seen
    assert len(entries(mtp_engine.scheduler.batch_generator) or ()) == 5  # the fixture's own request too
    assert observe(mtp_engine.scheduler)["ssm_arrays"] >= 15  # and what it goes back to where a draft was wrong
    assert MTP_STATE.present(mtp_engine.scheduler) is True


@pytest.mark.usefixtures("affected")
def test_patched_every_turn_ends_where_it_began(
    speculating: Callable[[], Engine], patch: Callable[[str], Any], assert_nothing_kept: Callable[..., None]
) -> None:
    patch("mtp-state")
    engine = speculating()
    baseline = observe(engine.scheduler)
    chat(engine, turns=8, tokens=100, after=lambda: assert_nothing_kept(engine, baseline))
    assert observe(engine.scheduler)["mtp_vendored_steps"] == 64  # it was speculating all the time
    assert MTP_STATE.present(engine.scheduler) is False


@pytest.mark.usefixtures("affected")
def test_outputs_and_accepted_tokens_are_those_of_the_engine_as_released(
    speculating: Callable[[], Engine], patch: Callable[[str], Any]
) -> None:
    def run() -> tuple[list[list[int]], dict[str, float]]:
        engine = speculating()
        before = observe(engine.scheduler)
        replies = chat(engine, turns=4, tokens=60, output_len=24)
        found = observe(engine.scheduler)
        counted = [name for name in found if name.startswith("mtp_") and name != "mtp_entries"]
        return replies, {name: found[name] - before.get(name, 0) for name in counted}

    released = run()
    assert released[1]["mtp_attempts"] > released[1]["mtp_accepts"] > 0
    assert patch("mtp-state").status.value == "applied"
    assert run() == released
