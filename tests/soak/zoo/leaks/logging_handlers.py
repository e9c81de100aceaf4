# SPDX-License-Identifier: Apache-2.0
"""A handler added to the same logger once a request."""

from __future__ import annotations

import logging

PATH = "logging_handlers.LOGGER.handlers"

LOGGER = logging.getLogger("zoo")


def step() -> None:
    LOGGER.addHandler(logging.NullHandler())
