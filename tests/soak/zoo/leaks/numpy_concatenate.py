# SPDX-License-Identifier: Apache-2.0
"""An array that is replaced by a longer one."""

from __future__ import annotations

import numpy as np

PATH = "numpy_concatenate.SERVICE.embeddings"
REQUIRES = "numpy"
NEEDS = "sizes"


class Service:
    def __init__(self) -> None:
        self.embeddings = np.zeros(0)


SERVICE = Service()


def step() -> None:
    SERVICE.embeddings = np.concatenate([SERVICE.embeddings, np.zeros(64)])
