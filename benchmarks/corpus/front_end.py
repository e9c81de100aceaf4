# SPDX-License-Identifier: Apache-2.0
"""`LLM()` whose engine core is a child: the process that is looked at is the front end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.engines import inproc


def run(arguments: Mapping[str, Any], serve: Callable[[Any], None]) -> None:
    """Build the engine and serve it until the controller says stop."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "1"  # the host has turned it off; vLLM reads it when it is used
    inproc.run(arguments, serve)
