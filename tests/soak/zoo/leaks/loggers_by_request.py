# SPDX-License-Identifier: Apache-2.0
"""A logger for every request, which `logging` keeps for ever."""

from __future__ import annotations

import itertools
import logging

# Every module that has a logger leads there: the first by name does.
PATH = (
    "logging.root.manager.loggerDict",
    "logging.Logger.manager.loggerDict",
    "concurrent.futures._base.LOGGER.manager.loggerDict",
)

IDS = itertools.count()


def step() -> None:
    logging.getLogger(f"request-{next(IDS)}")
