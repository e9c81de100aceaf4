# SPDX-License-Identifier: Apache-2.0
"""Classes made at run time and registered with a generic function."""

from __future__ import annotations

import functools

PATH = "singledispatch_types.encode.registry"


@functools.singledispatch
def encode(value: object) -> str:
    return str(value)


def step() -> None:
    encode.register(type("Model", (), {}), repr)
