# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import json
from collections import Counter


def test_a_closed_loop_sends_every_request_once_and_never_more_at_a_time(serve, run_load, outcomes) -> None:
    server = serve()
    loaded = run_load(server.url, {"input_len": 20}, requests=200, first=1000, max_concurrency=7).loaded
    assert outcomes(loaded) == {"completed": 200}
    assert loaded["requests"] == 200
    assert len({tuple(call.body["prompt"]) for call in server.calls}) == len(server.calls) == 200
    assert server.deepest <= 7
    assert loaded["prompt_tokens"] == 200 * 7, "the server's count goes before ours"
    assert loaded["output_tokens"] == 200
    assert sum(loaded["latency"]["counts"]) == 200
    assert loaded["errors"] == loaded["examples"] == {}


def test_the_next_load_continues_where_first_says(serve, run_load) -> None:
    server = serve()
    for first in (0, 50):
        run_load(server.url, {"input_len": 20}, requests=50, first=first)
    assert len({tuple(call.body["prompt"]) for call in server.calls}) == 100


def test_a_load_by_time_ends_and_waits_for_what_is_in_flight(serve, run_load, outcomes) -> None:
    async def slow(call):
        await asyncio.sleep(0.2)
        call.good()

    server = serve(slow)
    loaded = run_load(server.url, seconds=1.5, max_concurrency=4).loaded
    assert outcomes(loaded) == {"completed": len(server.calls)}
    assert loaded["requests"] >= 4
    assert loaded["seconds"] >= 1.5


def test_an_open_loop_takes_as_long_as_its_arrivals_and_says_when_it_was_held_up(serve, run_load, outcomes) -> None:
    server = serve()
    loaded = run_load(server.url, requests=40, request_rate=100.0).loaded
    assert loaded["seconds"] >= 0.2  # the sum of 40 seeded intervals of 10 ms

    async def slow(call):
        await asyncio.sleep(0.05)
        call.good()

    held_up = run_load(serve(slow).url, requests=40, request_rate=200.0, max_concurrency=1).loaded
    assert held_up["delayed"] > 20
    assert held_up["longest_delay"] > 0.1
    assert outcomes(held_up) == {"completed": 40}


def test_streams_give_first_and_later_tokens(serve, run_load, outcomes) -> None:
    async def paced(call):
        call.head()
        for _ in range(5):
            await asyncio.sleep(0.2)  # so long that a client which comes to read a little late still tells them apart
            await call.token()
        await call.end(5)

    loaded = run_load(serve(paced).url, {"stream": True, "output_len": 5}, requests=10).loaded
    assert outcomes(loaded) == {"completed": 10}
    assert loaded["output_tokens"] == 50
    assert sum(loaded["first_token"]["counts"]) == 10
    assert sum(loaded["inter_token"]["counts"]) == 40
    assert loaded["inter_token"]["sum"] / 40 >= 0.01
    assert loaded["first_token"]["sum"] / 10 >= 0.01


def test_aborts_disconnects_and_invalid_requests_meet_their_shares(serve, run_load, outcomes) -> None:
    async def strict(call):
        length = call.body.get("max_tokens")
        if not isinstance(length, int) or length < 0 or call.body["temperature"] < 0 or "prompt" not in call.body:
            call.send(400, b'{"error":{}}')
            return
        call.head()
        for _ in range(4):
            await asyncio.sleep(0.1)
            await call.token()
        await call.end(4)

    server = serve(strict)
    part = {"stream": True, "output_len": 4, "input_len": 20, "abort": 0.1, "disconnect": 0.2, "invalid": 0.15}
    loaded = run_load(server.url, part, requests=400, max_concurrency=32).loaded
    assert loaded["failed"] == 0, loaded["examples"]
    assert abs(loaded["rejected"] - 60) <= 5
    # One whose answer is there before we come to leave counts as answered, as some do where the machine is busy.
    assert 100 <= loaded["aborted"] <= 130
    assert sum(outcomes(loaded).values()) == loaded["requests"] == 400


def test_aborts_meet_their_share_in_parts_of_different_pace(serve, run_load) -> None:
    """Each part learns its own times: a slow part's would let every answer of a quick one come first."""

    async def paced(call):
        await asyncio.sleep(0.05 if call.body["max_tokens"] == 1 else 0.6)
        call.good()

    parts = [{"name": "quick", "abort": 0.3}, {"name": "slow", "share": 5, "output_len": 2, "abort": 0.3}]
    loaded = run_load(serve(paced).url, *parts, requests=480, max_concurrency=32).loaded
    aborted = {name: row["aborted"] for name, row in loaded["parts"].items()}
    assert aborted["quick"] > 16, "of 24"
    assert aborted["slow"] > 80, "of 120"


def test_a_mix_meets_its_shares_and_counts_by_part(serve, run_load) -> None:
    server = serve()
    parts = [
        {"name": "ids", "share": 3, "input_len": 20},
        {"name": "talk", "share": 1, "endpoint": "chat", "input_len": 20, "n": 2, "logprobs": 3},
        {"name": "json", "share": 1, "structured": True, "output_len": 9},
    ]
    loaded = run_load(server.url, *parts, requests=500).loaded
    done = {name: row["completed"] for name, row in loaded["parts"].items()}
    assert sum(done.values()) == 500
    assert all(abs(done[name] - wanted) <= 4 for name, wanted in {"ids": 300, "talk": 100, "json": 100}.items())
    talk = [call.body for call in server.calls if call.path == "/v1/chat/completions"]
    assert len(talk) == done["talk"]
    assert all(body["n"] == 2 and body["top_logprobs"] == 3 and body["messages"] for body in talk)
    schemas = [str(call.body["response_format"]) for call in server.calls if "response_format" in call.body]
    assert len(set(schemas)) == len(schemas) == done["json"]


def test_conversations_grow_with_the_servers_own_replies(serve, run_load) -> None:
    async def echo(call):
        call.good(f"reply {len(call.body['messages'])}")

    server = serve(echo)
    part = {"workload": "growing-chat", "turns": 3, "input_len": 30, "prefix_len": 10, "output_len": 4}
    run_load(server.url, part, requests=60, max_concurrency=5)
    assert {call.path for call in server.calls} == {"/v1/chat/completions"}
    lengths = Counter(len(call.body["messages"]) for call in server.calls)
    assert sum(lengths.values()) == lengths[2] + lengths[4] + lengths[6] == 60, "system and user, two more a turn"
    assert lengths[2] >= lengths[4] >= lengths[6] >= lengths[2] - 5, "at most those in flight are cut short"
    longest = next(call.body["messages"] for call in server.calls if len(call.body["messages"]) == 6)
    assert [one["role"] for one in longest] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert longest[2]["content"] == "reply 2"


def test_a_streamed_conversation_continues_with_the_first_of_several_answers(serve, run_load) -> None:
    async def two(call):
        call.head()
        for index, text in ((0, "a"), (1, "x"), (0, "b")):
            await call.event(json.dumps({"choices": [{"index": index, "delta": {"content": text}}]}).encode())
        await call.end(3)

    server = serve(two)
    run_load(
        server.url, {"workload": "growing-chat", "turns": 2, "stream": True, "n": 2}, requests=2, max_concurrency=1
    )
    assert server.calls[1].body["messages"][1] == {"role": "assistant", "content": "ab"}


def test_seconds_add_up_to_the_whole(serve, run_load) -> None:
    async def slow(call):
        await asyncio.sleep(0.05)
        await serve_good(call)

    server = serve()
    serve_good, server.behaviour = server.behaviour, slow
    ran = run_load(server.url, {}, {"name": "s", "stream": True, "output_len": 3}, seconds=2.3, max_concurrency=5)
    seconds = [one for one in ran.events if one["event"] == "second"]
    assert len(seconds) >= 2
    for name in ("completed", "prompt_tokens", "output_tokens"):
        assert sum(one[name] for one in seconds) == ran.loaded[name]
    assert sum(one["sent"] for one in seconds) == ran.loaded["requests"]
    latencies = [one["latency"] for one in seconds if one["completed"]]
    assert all(one["p50"] <= one["p99"] <= one["max"] for one in latencies)
    assert all(one["in_flight"] <= 5 and one["cpu"] >= 0 and one["lag"] >= 0 for one in seconds)
    progress = [one["done"] for one in ran.events if one["event"] == "progress"]
    assert progress
    assert progress == sorted(progress)
