# SPDX-License-Identifier: Apache-2.0
"""Clients of this machine, told from others by what a request says of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vllm_soak.patches.vllm_mlx.routes.local_client import is_local, is_loopback

HERE = {"host": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::1%lo", True),
        ("::ffff:10.0.0.1", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("::", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_loopback_addresses_are_told_from_others(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


@pytest.mark.parametrize(
    ("host", "headers", "expected"),
    [
        ("127.0.0.1", HERE, True),
        ("::ffff:127.0.0.1", {"host": "[::1]:80"}, True),
        ("127.0.0.1", {"host": "LOCALHOST"}, True),
        ("10.0.0.1", HERE, False),
        ("127.0.0.1", {"host": "localhost.elsewhere.example"}, False),
        ("127.0.0.1", {}, False),
        ("127.0.0.1", HERE | {"x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", HERE | {"forwarded": "for=127.0.0.1"}, False),
        ("127.0.0.1", HERE | {"origin": "http://localhost:3000"}, True),
        ("127.0.0.1", HERE | {"origin": "https://elsewhere.example"}, False),
        ("127.0.0.1", HERE | {"origin": "null"}, False),
        ("127.0.0.1", HERE | {"sec-fetch-site": "none"}, True),
        ("127.0.0.1", HERE | {"sec-fetch-site": "cross-site"}, False),
    ],
)
def test_a_request_is_local_when_its_peer_is_and_nobody_stands_between(
    host: str, headers: dict[str, str], expected: bool
) -> None:
    assert is_local(SimpleNamespace(host=host, port=50_000), headers) is expected


def test_a_socket_without_an_address_is_nobody_s() -> None:
    assert is_local(None, HERE) is False
