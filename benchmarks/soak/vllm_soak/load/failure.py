# SPDX-License-Identifier: Apache-2.0
"""Failures of requests by kind, and how a server that fails every one of them is reported."""

from __future__ import annotations

import errno
from typing import Any

import aiohttp

from vllm_soak.errors import EngineError

_ERRNO = {errno.ECONNREFUSED: "refused", errno.ECONNRESET: "reset", errno.EPIPE: "reset"}
# The client's own limit on open files: nothing was wrong with the server.
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)

_REMEDIES = {
    "refused": "see at the end of the server's log how it ended, and start it again",
    "reset": "see at the end of the server's log how it ended, and start it again",
    "closed": "see at the end of the server's log how it ended, and start it again",
    "timeout": "see the server's log for a worker that hangs, or offer less at a time with --max-concurrency",
    "connect": "check the server's address",
    "open-files": "raise the limit on open files (ulimit -n), or lower --max-concurrency",
    "bad-answer": "check that the address is that of an OpenAI-compatible server",
    "accepted-invalid": "check that the address is that of an OpenAI-compatible server",
    "error-event": "see the server's log",
    "http-404": "check the model's name and the address",
    "http-401": "start the server without an API key",
}
_WORDS = {
    "refused": "refused every connection",
    "reset": "reset every connection",
    "closed": "closed every connection without a whole answer",
    "timeout": "answered no request in time",
    "connect": "could not be reached",
    "open-files": "could not be reached for want of open files on this side",
    "bad-answer": "answered with something that is no completion",
    "accepted-invalid": "accepted every request that it should refuse",
    "error-event": "reported an error in every stream",
}


def classify(reason: BaseException) -> str:
    """Kind of a failure by its exception."""
    if isinstance(reason, TimeoutError):
        return "timeout"
    if isinstance(reason, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return "closed"
    if isinstance(reason, OSError):
        return "open-files" if reason.errno in _OUT_OF_FILES else _ERRNO.get(reason.errno or 0, _by_type(reason))
    return "bad-answer" if isinstance(reason, ValueError | aiohttp.ClientResponseError) else "connect"


def describe(reason: BaseException) -> str:
    """What was seen of a failure, without what a client library adds to the system's words."""
    if isinstance(reason, aiohttp.ClientConnectorError):
        reason = reason.os_error
    return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__


def _by_type(reason: OSError) -> str:
    return "reset" if isinstance(reason, ConnectionResetError) else "connect"


class DeadServerError(EngineError):
    """The server fails every request, or answers none.

    Attributes:
        loaded: What was done until then, as fields of `loaded`.
    """

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause, remedy)
        self.loaded: dict[str, Any] = {}


def dead(url: str, seconds: float, kind: str, text: str) -> DeadServerError:
    """A server that did nothing but fail.

    Args:
        url: Its address.
        seconds: For how long.
        kind: Kind of the last failure.
        text: What was seen of it.
    """
    word = _WORDS.get(kind) or f"answered every request with {kind.replace('http-', 'HTTP status ')}"
    remedy = _REMEDIES.get(kind) or (
        "see the server's log" if kind.startswith("http-5") else "check the workload against the server's answer"
    )
    return DeadServerError(f"the server at {url} {word} for {seconds:.0f} s ({text.rstrip('.')})", remedy)


def hung(url: str, seconds: float, waiting: int) -> DeadServerError:
    """A server that takes requests and sends nothing."""
    return DeadServerError(
        f"the server at {url} sent nothing for {seconds:.0f} s while {waiting} requests waited",
        "see the server's log for a worker that hangs",
    )
