# SPDX-License-Identifier: Apache-2.0
"""What vLLM calls in each of its processes, through the entry point group `vllm.general_plugins`."""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LOGGER = logging.getLogger("vllm.vllm_soak")


def load(engine: str = "vllm") -> None:
    """Apply the selected patches, then arm the probe if the environment asks for it.

    vLLM guards the import of a plugin but not its call, and may call it more than once in a process:
    this never raises, and a further call changes nothing.

    Args:
        engine: Import name of the engine.
    """
    _guarded("patches", partial(_patch, engine))
    if os.environ.get("VLLM_SOAK_PROBE", "0") not in {"", "0"}:
        _guarded("probe", _arm)


def _patch(engine: str) -> None:
    from vllm_soak.patching.apply import apply_selected

    apply_selected(engine=engine)


def _arm() -> None:
    from vllm_soak.probe.server import arm

    arm()


def _guarded(what: str, call: Callable[[], None]) -> None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the engine must start whatever is wrong with us
        _LOGGER.warning("vllm-soak: its %s did not load (%s: %s).", what, type(error).__name__, error)
