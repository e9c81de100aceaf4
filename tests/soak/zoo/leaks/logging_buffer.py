# SPDX-License-Identifier: Apache-2.0
"""A memory handler that is never flushed."""

from __future__ import annotations

import logging
import logging.handlers

PATH = "logging_buffer.HANDLER.buffer"

HANDLER = logging.handlers.MemoryHandler(capacity=10**9, flushLevel=logging.CRITICAL + 1)
LOGGER = logging.getLogger("zoo")
LOGGER.propagate = False
LOGGER.addHandler(HANDLER)


def step() -> None:
    LOGGER.warning("a request was slow")
