# SPDX-License-Identifier: Apache-2.0
"""prometheus_client: a child for every value of a label."""

from __future__ import annotations

import itertools

import prometheus_client

PATH = "prometheus_labels.REQUESTS._metrics"
REQUIRES = "prometheus_client"

REQUESTS = prometheus_client.Counter("requests", "Requests", ["path"])
IDS = itertools.count()


def step() -> None:
    REQUESTS.labels(f"/users/{next(IDS)}").inc()
