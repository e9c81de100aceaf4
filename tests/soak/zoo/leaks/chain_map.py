# SPDX-License-Identifier: Apache-2.0
"""Scopes that are pushed and never popped."""

from __future__ import annotations

from collections import ChainMap

PATH = "chain_map.SCOPES.maps"

SCOPES: ChainMap[str, int] = ChainMap()


def step() -> None:
    SCOPES.maps.append({})
