# SPDX-License-Identifier: Apache-2.0
"""The engines' real servers over HTTP: what turns, disconnects and a prefix cache leave behind, and who says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from vllm_soak.workloads.text import random_text

pytestmark = pytest.mark.engine

MTP = ("rapid-mlx==0.12.18", "--disable-prefix-cache")
# As a user starts a server that vllm-soak did not start.
BY_HAND = ("-m", "vllm_soak.patched", "--", "rapid-mlx")
NOISE = 50_000  # bytes of active memory
TURNS, CHARS = 3, 150
Served = Any


def user(key: str, chars: int = CHARS) -> dict[str, str]:
    return {"role": "user", "content": random_text(key, chars)}


def converse(served: Served, after: Callable[[], None], turns: int = TURNS) -> list[str]:
    """Hold a growing conversation; gives the replies."""
    messages: list[dict[str, str]] = []
    replies = []
    for turn in range(turns):
        messages.append(user(f"turn {turn}"))
        replies.append(served.chat(messages))
        messages.append({"role": "assistant", "content": replies[-1]})
        after()
    return replies


@pytest.fixture
def released(serve_mlx: Callable[..., Served]) -> Served:
    return serve_mlx(*MTP, kind="qwen3_5-mtp", patches="none")


@pytest.fixture
def patched(serve_mlx: Callable[..., Served]) -> Served:
    return serve_mlx(*MTP, kind="qwen3_5-mtp", patches="all", program=BY_HAND, VLLM_SOAK_DEBUG_ARRAYS="1")


def test_turns_and_disconnects_without_and_with_the_patches(released: Served, patched: Served) -> None:
    before = [released.settled(), patched.settled()]
    rises: list[dict[str, float]] = [before[0]]
    replies = converse(released, lambda: rises.append(released.settled()))
    assert all(later["mlx_active"] > earlier["mlx_active"] + NOISE for earlier, later in pairwise(rises))
    assert [row["mtp_entries"] - rises[0]["mtp_entries"] for row in rises] == list(range(TURNS + 1))
    assert released.ask("/debug/mx_arrays")[0] == 404

    assert converse(patched, lambda: assert_nothing_kept(patched, before[1])) == replies

    for served in (released, patched):  # alone, so that it is speculated when the connection is closed
        served.leave_early([user("leaver")], 200, 3)
    assert released.settled()["mtp_entries"] == rises[-1]["mtp_entries"] + 1
    assert_nothing_kept(patched, before[1])

    # How long a request shares its batch with those that leave is a matter of time, and so are some of its tokens, as
    # released too: to the token, tests/vllm_mlx/test_traffic.py compares. Here it must end well, and so must the next.
    assert all(live_replies(patched, leavers=3))
    assert_nothing_kept(patched, before[1])
    assert live_replies(patched, leavers=0) == live_replies(released, leavers=0)

    told_by_name(patched)
    tells_arrays(patched)


def live_replies(served: Served, leavers: int) -> list[str]:
    """Replies to requests one after the other, while others break their streams off."""
    with ThreadPoolExecutor(max_workers=leavers + 1) as pool:
        leaving = [
            pool.submit(served.leave_early, [user(f"leaver {number}")], 200, 2 + number) for number in range(leavers)
        ]
        replies = [served.chat([user(f"live {number}")], 40) for number in range(3)]
        for one in leaving:
            one.result()
    return replies


def assert_nothing_kept(served: Served, before: dict[str, float]) -> None:
    """What a request held may go a step of the engine later than the server says that it has ended."""
    until = time.monotonic() + 60
    while (found := served.settled())["mtp_entries"] != 0 and time.monotonic() < until:
        time.sleep(0.1)
    assert found["mtp_entries"] == 0
    assert found["ssm_arrays"] == 0
    assert found["mlx_active"] == pytest.approx(before["mlx_active"], abs=NOISE)


def told_by_name(served: Served) -> None:
    """Each patch's status is in the log and in the probe's answer."""
    statuses = {row["name"]: row["status"] for row in served.probe.patches()}
    assert statuses["mtp-state"] == statuses["debug-arrays"] == "applied"
    log = served.server.log.read_text()
    assert all(f"{name} {status} (" in log for name, status in statuses.items())


def tells_arrays(served: Served) -> None:
    """The two addresses answer, but for others than this machine's own clients."""
    status, found = served.ask("/debug/mx_arrays?limit=3")
    assert status == 200
    assert len(found["groups"]) == 3
    assert found["mlx"]["active"] > 0
    group = found["groups"][0]
    shape = ",".join(map(str, group["shape"]))
    _, held = served.ask(f"/debug/mx_referrers?shape={shape}&dtype={group['dtype']}&limit=5")
    assert held["arrays"] == group["count"]
    assert sum(one["arrays"] for one in held["holders"]) + held["not_reached"] == held["looked_at"] <= 5
    assert "model" in held["holders"][0]["path"]
    assert served.ask("/debug/mx_referrers")[0] == 400
    assert served.ask("/debug/mx_arrays", {"X-Forwarded-For": "127.0.0.1"})[0] == 403
    assert served.ask("/debug/mx_arrays", {"Host": "elsewhere.example"})[0] == 403


def test_the_entry_count_cache_stays_below_its_limit(serve_mlx: Callable[..., Served]) -> None:
    flags = ("--no-memory-aware-cache", "--cache-memory-mb", "1")
    served = serve_mlx("vllm-mlx==0.4.1", *flags, kind="qwen3_5", patches="all")
    before = served.settled()["mlx_active"]
    seen: list[dict[str, float]] = []
    converse(served, lambda: seen.append(served.settled()), turns=6)
    assert max(row["prefix_bytes"] for row in seen) <= 1 << 20
    assert all(row["mlx_active"] < before + (1 << 20) + NOISE for row in seen)
    assert seen[-1]["prefix_entries"] > 0
