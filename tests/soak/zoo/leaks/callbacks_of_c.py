# SPDX-License-Identifier: Apache-2.0
"""Functions for C code, which an array of `ctypes` keeps alive."""

from __future__ import annotations

import ctypes
import itertools

PATH = "callbacks_of_c.CALLBACKS._objects"

Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
CALLBACKS = (Callback * 100_000)()
NUMBERS = itertools.count()


def step() -> None:
    CALLBACKS[next(NUMBERS)] = Callback(lambda one: one)
