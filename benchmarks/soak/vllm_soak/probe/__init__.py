# SPDX-License-Identifier: Apache-2.0
"""What runs inside the engine's processes, and how the controller asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def arm() -> Path | None:
    """Let `vllm-soak locate` ask this process, whatever it runs; never raises.

    One daemon thread listens on a socket that only this user can reach, in the folder that `VLLM_SOAK_PROBE` names, or
    the default one where that is not set; `VLLM_SOAK_PROBE=0` turns it off. It costs nothing while nobody asks.

    Returns:
        The socket, or None when it is turned off or could not be made.
    """
    from vllm_soak.probe.server import arm as start

    return start(default="1")
