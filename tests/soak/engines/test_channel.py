# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_soak.engines.channel import Channel, Closed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.fixture
def pair() -> Iterator[tuple[Channel, Channel]]:
    left_in, right_out = os.pipe()
    right_in, left_out = os.pipe()
    left, right = Channel(left_in, left_out), Channel(right_in, right_out)
    yield left, right
    left.close()
    right.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=5))
def test_messages_arrive_in_order_and_unchanged(
    pair: tuple[Channel, Channel], messages: list[dict[str, object]]
) -> None:
    left, right = pair
    for message in messages:
        left.send(message)
    assert [right.receive() for _ in messages] == messages


def test_a_message_larger_than_a_pipe_arrives(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    big = {"text": "x" * 3_000_000}
    sender = threading.Thread(target=left.send, args=(big,))
    sender.start()
    assert right.receive() == big
    sender.join()


def test_pending_tells_a_whole_message_from_a_part(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    os.write(left._write_fd, b'{"a":')
    right.fill()
    assert not right.pending
    os.write(left._write_fd, b"1}\n")
    right.fill()
    assert right.pending
    assert right.receive() == {"a": 1}


def test_end_of_file_in_the_middle_of_a_message_is_closed(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    os.write(left._write_fd, b'{"half":')
    left.close()
    with pytest.raises(Closed):
        right.receive()


def test_sending_to_nobody_is_closed(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    right.close()
    with pytest.raises(Closed):
        left.send({})


def step_by_step(_frame: Any, _event: str, _argument: Any) -> Any:
    """Trace a thread so that others have their turn before each of its lines."""
    time.sleep(0.001)
    return step_by_step


def test_threads_that_close_it_at_once_close_each_end_once() -> None:
    channel, together = Channel(*os.pipe()), threading.Barrier(4)

    def close() -> None:
        together.wait(120)
        sys.settrace(step_by_step)
        try:
            channel.close()  # of an end that is closed already the system would complain
        finally:
            sys.settrace(None)

    with ThreadPoolExecutor(4) as threads:
        for one in [threads.submit(close) for _ in range(4)]:
            one.result()


def test_closing_twice_is_allowed(pair: tuple[Channel, Channel]) -> None:
    pair[0].close()
    pair[0].close()
