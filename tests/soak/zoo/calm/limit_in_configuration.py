# SPDX-License-Identifier: Apache-2.0
"""A cache whose limit stands in the configuration, under a name of its own."""

from __future__ import annotations

import itertools

MOST_ROUNDS = 15
CLEAR = True


class Settings:
    answers_kept = 90


class Cache:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.answers: dict[int, object] = {}

    def add(self, key: int) -> None:
        self.answers[key] = object()
        if len(self.answers) > self.settings.answers_kept:
            del self.answers[next(iter(self.answers))]


CACHE = Cache(Settings())
KEYS = itertools.count()


def step() -> None:
    CACHE.add(next(KEYS))
