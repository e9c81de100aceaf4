# SPDX-License-Identifier: Apache-2.0
"""Bytes that an object holds outside Python's heap: a tensor's storage."""

from __future__ import annotations

import sys
from array import array
from io import BytesIO
from typing import Any

from vllm_soak.heap.attributes import class_attribute, derives, module_dict

# They never grow, but are replaced by longer ones; numbers and short texts in them are not seen one by one.
REPLACED: tuple[type, ...] = (tuple, frozenset)
# A frozenset's entry: its hash and a reference. The table is made four times as large now and then.
_SET_ENTRY = 16
_itemsize = array.__dict__["itemsize"].__get__


def _class(module: str, name: str) -> Any:
    found = sys.modules.get(module)
    cls = None if found is None else module_dict(found).get(name)
    return cls if cls is not None and derives(type(cls), type) else None


def types_by_bytes() -> list[type]:
    """Types whose objects grow by becoming longer; to be compared by identity."""
    numpy = _class("numpy", "ndarray")
    return [bytes, str, array, BytesIO, *REPLACED, *([] if numpy is None else [numpy])]


def payload_bytes(item: Any) -> int:
    """Bytes of a tensor's storage, which its object does not count; 0 for anything else.

    Only torch's own classes are asked, so that no subclass's code runs.
    """
    cls = type(item)
    tensor, parameter = _class("torch", "Tensor"), _class("torch.nn.parameter", "Parameter")
    if cls is not tensor and (parameter is None or cls is not parameter):
        return 0
    try:
        storage = class_attribute(tensor, "untyped_storage")(item)
        return int(storage.nbytes())
    except RuntimeError:  # a sparse one, or one that oneDNN has packed, has no storage of its own
        return 0


def buffer_bytes(item: Any) -> int:
    """Bytes that an array, or a frozenset's entries, take, without what is kept in reserve to grow."""
    if type(item) is frozenset:
        return len(item) * _SET_ENTRY
    return array.__len__(item) * int(_itemsize(item))
