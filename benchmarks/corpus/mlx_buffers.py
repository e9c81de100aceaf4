# SPDX-License-Identifier: Apache-2.0
"""An engine on mlx that may keep a gibibyte of freed buffers: memory that no array uses, until it is cleared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines.mlx import driver

KEPT = 1 << 30


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the engine and serve it until the controller says stop."""
    import mlx.core as mx

    mx.set_cache_limit(KEPT)
    driver.run(arguments, serve)
