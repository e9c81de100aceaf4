# SPDX-License-Identifier: Apache-2.0
"""An OrderedDict of requests in order of arrival."""

from __future__ import annotations

from collections import OrderedDict

PATH = "ordered_dict_order.SERVICE.order"


class Service:
    def __init__(self) -> None:
        self.order = OrderedDict()


SERVICE = Service()


def step() -> None:
    SERVICE.order[len(SERVICE.order)] = object()
