# SPDX-License-Identifier: Apache-2.0
"""Whether a client of the engine's server is on this machine, and nobody stands between the two."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

# What a proxy says of the client behind it: the address of the connection is the proxy's own then.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


def is_local(client: Any, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this machine itself: its peer does, no proxy forwards it, and it means this machine.

    The last is what a page in a local browser cannot pretend whose name was made to lead here; one that calls this
    machine by its name says where it comes from, and might read the answer where the engine allows all origins.

    Args:
        client: `host` and `port` of the peer; None for a Unix socket, where anybody may be behind a proxy.
        headers: Of the request, by names in any case.
    """
    if client is None or any(name in headers for name in FORWARDED) or is_of_a_strange_page(headers):
        return False
    return is_loopback(client.host) and names_this_machine(headers.get("host", ""))


def is_of_a_strange_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of another machine asks."""
    if headers.get("sec-fetch-site", "none") == "cross-site":
        return True
    origin = headers.get("origin")
    return origin is not None and not names_this_machine(origin.partition("://")[2])


def names_this_machine(host: str) -> bool:
    """Whether a `Host` header, with or without a port, is `localhost` or a loopback address."""
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower() == "localhost" or is_loopback(name)


def is_loopback(address: str) -> bool:
    """Whether an address is of the loopback interface; of IPv6, also one that stands for such a one of IPv4."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (found if mapped is None else mapped).is_loopback
