# SPDX-License-Identifier: Apache-2.0
"""What a server on mlx says of itself: it counts its open requests under another address than vLLM's."""

from __future__ import annotations

from contextlib import suppress

from vllm_soak.engines.serve.health import Health

STATUS = "/v1/status"
OPEN = ("num_running", "num_waiting")


class MlxHealth(Health):
    """Asks one server on mlx."""

    def is_up(self) -> bool:
        """Whether it says that it is healthy, and that its model is loaded."""
        found = self._json("/health")
        return found.get("status") == "healthy" and bool(found.get("model_loaded")) and found.get("ready") is not False

    def open_requests(self) -> float | None:
        """Requests that it has not finished, or None when it does not say."""
        found = self._json(STATUS)
        with suppress(TypeError, ValueError):
            return sum(float(found[name]) for name in OPEN) if all(name in found for name in OPEN) else None
        return None
