# SPDX-License-Identifier: Apache-2.0
"""Find, name and fix the memory leaks of LLM inference engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_soak.locate.growth import Growth

__version__ = "0.1.0"


def growth(*, warm_up: int = 2) -> Growth:
    """Watch what grows in this process while the same work is done again and again; see `docs/locator.md`.

    Importing this package stays cheap: the locator is loaded here, numpy and scipy when a verdict is asked for.

    Args:
        warm_up: Rounds that come before the measured ones; the first is where comparing starts.

    Raises:
        UsageError: `warm_up` is below 1.
    """
    from vllm_soak.locate.growth import Growth

    return Growth(warm_up=warm_up)
