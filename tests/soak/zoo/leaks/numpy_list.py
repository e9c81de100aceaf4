# SPDX-License-Identifier: Apache-2.0
"""Arrays in a list."""

from __future__ import annotations

import numpy as np

PATH = "numpy_list.SERVICE.embeddings"
REQUIRES = "numpy"


class Service:
    def __init__(self) -> None:
        self.embeddings = []


SERVICE = Service()


def step() -> None:
    SERVICE.embeddings.append(np.zeros(64))
