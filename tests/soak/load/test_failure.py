# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno

import aiohttp
import pytest

from vllm_soak.load.failure import classify, dead, describe


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (OSError(errno.ECONNREFUSED, "no"), "refused"),
        (OSError(errno.ECONNRESET, "no"), "reset"),
        (OSError(errno.EPIPE, "no"), "reset"),
        (aiohttp.ClientConnectionResetError("no"), "reset"),
        (OSError(errno.EMFILE, "no"), "open-files"),
        (OSError(errno.ENETUNREACH, "no"), "connect"),
        (aiohttp.ServerDisconnectedError(), "closed"),
        (aiohttp.ClientPayloadError(), "closed"),
        (aiohttp.ConnectionTimeoutError(), "timeout"),
        (TimeoutError(), "timeout"),
        (ValueError("a line without an end"), "bad-answer"),
        (aiohttp.ClientError(), "connect"),
    ],
)
def test_exceptions_are_told_apart(reason: BaseException, kind: str) -> None:
    assert classify(reason) == kind


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("open-files", "raise the limit on open files (ulimit -n), or lower --max-concurrency"),
        ("http-404", "check the model's name and the address"),
        ("http-502", "see the server's log"),
        ("http-400", "check the workload against the server's answer"),
    ],
)
def test_a_remedy_fits_what_was_seen(kind: str, remedy: str) -> None:
    told = dead("http://127.0.0.1:1", 5.0, kind, "text.")
    assert told.remedy == remedy
    assert "for 5 s (text)" in str(told)


def test_a_failure_is_described_in_the_systems_words() -> None:
    assert describe(TimeoutError()) == "TimeoutError"
    assert describe(OSError(errno.ECONNRESET, "reset")) == f"ConnectionResetError: [Errno {errno.ECONNRESET}] reset"
