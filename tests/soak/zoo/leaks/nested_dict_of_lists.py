# SPDX-License-Identifier: Apache-2.0
"""A fixed dict of dicts whose innermost lists grow."""

from __future__ import annotations

PATH = "nested_dict_of_lists.STORE[*][*]"

STORE: dict[str, dict[str, list[int]]] = {"eu": {"orders": [], "users": []}, "us": {"orders": []}}


def step() -> None:
    for region in STORE.values():
        region["orders"].append(1)
