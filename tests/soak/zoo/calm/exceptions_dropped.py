# SPDX-License-Identifier: Apache-2.0
"""Exceptions that are raised from one another, handled and dropped."""

from __future__ import annotations

import contextlib


def fail() -> None:
    raise ValueError


def translate() -> None:
    try:
        fail()
    except ValueError as failure:
        raise RuntimeError from failure


def step() -> None:
    with contextlib.suppress(RuntimeError):
        translate()
