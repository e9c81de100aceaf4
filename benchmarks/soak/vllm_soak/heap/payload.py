# SPDX-License-Identifier: Apache-2.0
"""Bytes that an object holds outside Python's heap: a tensor's storage."""

from __future__ import annotations

import sys
from array import array
from typing import Any

from vllm_soak.heap.attributes import class_attribute, derives, module_dict

_itemsize = array.__dict__["itemsize"].__get__


def _class(module: str, name: str) -> Any:
    found = sys.modules.get(module)
    cls = None if found is None else module_dict(found).get(name)
    return cls if cls is not None and derives(type(cls), type) else None


def types_by_bytes() -> list[type]:
    """Types whose objects grow by becoming longer; to be compared by identity."""
    numpy = _class("numpy", "ndarray")
    return [bytes, str, array, *([] if numpy is None else [numpy])]


def payload_bytes(item: Any) -> int:
    """Bytes of a tensor's storage, which its object does not count; 0 for anything else.

    Only torch's own classes are asked, so that no subclass's code runs.
    """
    cls = type(item)
    tensor, parameter = _class("torch", "Tensor"), _class("torch.nn.parameter", "Parameter")
    if cls is not tensor and (parameter is None or cls is not parameter):
        return 0
    storage = class_attribute(tensor, "untyped_storage")(item)
    return int(storage.nbytes())


def buffer_bytes(item: array[Any]) -> int:
    """Bytes that an array holds, without what it keeps in reserve to grow."""
    return array.__len__(item) * int(_itemsize(item))
