# SPDX-License-Identifier: Apache-2.0
"""Everything that one sample measures of this process."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from vllm_soak.sampling.collector import collector
from vllm_soak.sampling.device import device
from vllm_soak.sampling.malloc import malloc
from vllm_soak.sampling.memory import in_use, memory
from vllm_soak.sampling.process import process
from vllm_soak.sampling.settle import settle
from vllm_soak.sampling.watch import lengths

if TYPE_CHECKING:
    from collections.abc import Iterable


def take_sample(*, settled: bool, watch: Iterable[str] = ()) -> dict[str, Any]:
    """`values`, `lengths` and `garbage` as in `store.record.Sample`.

    Args:
        settled: Collect garbage and trim first, and say what that gave back.
        watch: Paths of containers whose length is wanted.
    """
    values, garbage = settle() if settled else ({}, [])
    if "in_use" not in values and (now := in_use()) is not None:
        values["in_use"] = now
    for measure in (memory, malloc, collector, process, device):
        # One that fails (a folder in /proc that is closed to us, a GPU in a bad state) is absent.
        with contextlib.suppress(Exception):
            values |= measure()
    return {"values": values, "lengths": lengths(watch), "garbage": garbage}
