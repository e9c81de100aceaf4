# SPDX-License-Identifier: Apache-2.0
"""An array of objects, replaced by a longer one; the collector does not look into such arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PATH = "numpy_of_objects.SERVICE.requests"
NEEDS = "sizes"
REQUIRES = "numpy"


class Request:
    pass


class Service:
    def __init__(self) -> None:
        self.requests: npt.NDArray[np.object_] = np.empty(0, dtype=object)


SERVICE = Service()


def step() -> None:
    longer = np.empty(len(SERVICE.requests) + 1, dtype=object)
    longer[:-1] = SERVICE.requests
    longer[-1] = Request()
    SERVICE.requests = longer
