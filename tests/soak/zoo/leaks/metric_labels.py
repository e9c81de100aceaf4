# SPDX-License-Identifier: Apache-2.0
"""A metric with the request id as a label: a child for each."""

from __future__ import annotations

PATH = "metric_labels.REGISTRY.metrics[*].children"


class Counter:
    def __init__(self) -> None:
        self.children: dict[tuple[str, ...], int] = {}

    def labels(self, *values: str) -> None:
        self.children[values] = self.children.get(values, 0) + 1


class Registry:
    def __init__(self) -> None:
        self.metrics = {"requests_total": Counter()}


REGISTRY = Registry()


def step() -> None:
    counter = REGISTRY.metrics["requests_total"]
    counter.labels("GET", f"/users/{len(counter.children)}")
