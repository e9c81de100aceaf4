# SPDX-License-Identifier: Apache-2.0
"""Loads whose server fails, now and then or for good."""

from __future__ import annotations

import asyncio

import pytest

from vllm_soak.load.failure import DeadServerError


async def half_stream(call):
    call.head()
    await call.token()
    call.writer.write(b"0\r\n\r\n")


async def torn_stream(call):
    call.head()
    await call.token()
    call.writer.transport.abort()


async def half_body(call):
    call.writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
    await call.writer.drain()
    call.writer.close()


async def reset(call):
    call.reset()


async def hang_up(call):
    call.writer.close()


async def error_event(call):
    call.head()
    await call.event(b'{"error": {"message": "engine died"}}')
    await call.end(0)


async def broken(call):
    call.send(500, b"EngineDeadError: it died")


async def nonsense(call):
    call.send(200, b"<html>")


async def no_choices(call):
    call.send(200, b'{"choices": []}')


@pytest.mark.parametrize(
    ("behaviour", "stream", "kind", "text"),
    [
        (half_stream, True, "closed", "1 events without [DONE]"),
        (torn_stream, True, "closed", ""),
        (half_body, False, "closed", ""),
        (hang_up, False, "closed", ""),
        (reset, False, "reset", ""),
        (error_event, True, "error-event", "engine died"),
        (broken, False, "http-500", "EngineDeadError"),
        (nonsense, False, "bad-answer", "<html>"),
        (no_choices, False, "bad-answer", "no choices"),
    ],
)
def test_failures_are_counted_by_kind(serve, run_load, behaviour, stream, kind, text, outcomes) -> None:
    """Every fourth request meets the failure: the load goes on."""
    server = serve()

    async def sometimes(call):
        good_answer = server_good if call.number % 4 else behaviour
        await good_answer(call)

    server_good, server.behaviour = server.behaviour, sometimes
    part = {"stream": stream, "output_len": 2, "input_len": 20}
    loaded = run_load(server.url, part, requests=24, max_concurrency=3).loaded
    assert loaded["errors"] == {kind: 6}
    assert outcomes(loaded) == {"completed": 18, "failed": 6}
    assert text in loaded["examples"][kind]
    assert sum(loaded["latency"]["counts"]) == 18, "a failure has no latency"


def test_a_slow_answer_is_a_timeout(serve, run_load) -> None:
    async def sometimes(call):
        if call.number == 1:
            await asyncio.sleep(600)
        call.good()

    loaded = run_load(serve(sometimes).url, requests=4, max_concurrency=1, start={"timeout": 5.0}).loaded
    assert loaded["errors"] == {"timeout": 1}
    assert loaded["completed"] == 3


def test_an_invalid_request_that_is_accepted_is_a_failure(serve, run_load) -> None:
    loaded = run_load(serve().url, {"invalid": 0.5}, requests=20).loaded
    assert set(loaded["errors"]) == {"accepted-invalid"}
    assert abs(loaded["failed"] - 10) <= 2
    assert loaded["completed"] + loaded["failed"] == 20


def test_a_server_that_dies_ends_the_load_with_what_was_done(serve, run_load) -> None:
    server = serve()

    async def die(call):
        if call.number < 50:
            call.good()
        elif call.number == 50:
            server._server.close()
            call.reset()
        else:
            call.reset()

    server.behaviour = die
    with pytest.raises(
        DeadServerError, match=r"refused every connection for \d+ s \(Conn.* Connect call failed .*\): see "
    ) as told:
        run_load(server.url, requests=100_000, max_concurrency=4, start={"give_up": 1.0})
    assert told.value.loaded["completed"] == 50
    assert 3 <= told.value.loaded["failed"] < 200, "nor stormed"


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (broken, r"HTTP status 500 for .*EngineDeadError: it died\): see the server's log"),
        (nonsense, r"no completion for .*: check that the address is that of an OpenAI-compatible server"),
    ],
)
def test_a_server_that_only_fails_is_named_with_its_answer(serve, run_load, behaviour, message) -> None:
    with pytest.raises(DeadServerError, match=message):
        run_load(serve(behaviour).url, seconds=60, start={"give_up": 0.5})


def test_a_server_that_sends_nothing_is_hung(serve, run_load) -> None:
    async def never(_call):
        await asyncio.sleep(600)

    with pytest.raises(DeadServerError, match=r"sent nothing for \d+ s while 3 requests waited: .* worker that hangs"):
        run_load(serve(never).url, requests=10, max_concurrency=3, start={"stall": 3.0})


def test_a_few_failures_beside_a_long_answer_are_borne(serve, run_load) -> None:
    """Nothing has been answered well yet, but a request from before the failures is still at work."""
    over = asyncio.Event()

    async def one_long(call):
        if call.number == 0:
            await over.wait()
        elif call.number < 8:
            await asyncio.sleep(0.05)
            call.send(503, b"")
            return
        over.set()
        call.good()

    loaded = run_load(serve(one_long).url, requests=10, max_concurrency=2, start={"give_up": 0.2}).loaded
    assert loaded["errors"] == {"http-503": 7}
    assert loaded["completed"] == 3


def test_a_redirect_is_not_followed(serve, run_load) -> None:
    """Nothing is sent to an address that nobody gave."""
    elsewhere = serve()

    async def redirect(call):
        call.writer.write(b"HTTP/1.1 307 Temporary\r\nlocation: %b/v1/completions\r\n" % elsewhere.url.encode())
        call.writer.write(b"content-length: 0\r\n\r\n")

    loaded = run_load(serve(redirect).url, requests=2).loaded
    assert loaded["errors"] == {"http-307": 2}
    assert elsewhere.calls == []
