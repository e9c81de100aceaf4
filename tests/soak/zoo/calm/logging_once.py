# SPDX-License-Identifier: Apache-2.0
"""A logger whose handler is added once, and that is used all the time."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("zoo")
LOGGER.propagate = False


def step() -> None:
    if not LOGGER.handlers:
        LOGGER.addHandler(logging.NullHandler())
    LOGGER.warning("a request was slow")
