# SPDX-License-Identifier: Apache-2.0
"""One conversation on an engine on mlx, and what the engine holds when it is idle after each turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vllm_soak.probe.client import ProbeClient

ACTIVE = "mlx_active"
# What the table of the original report has, and what tells a leak from a cache.
KEPT = (ACTIVE, "arrays", "kv_arrays", "ssm_arrays", "mtp_entries", "prefix_entries", "prefix_bytes")

Values = Mapping[str, float]


def turn_by_turn(turns: int, offer: Callable[[], None], look: Callable[[], Values]) -> list[dict[str, float]]:
    """Figures of the idle engine before a conversation and after each of its turns.

    Args:
        turns: Requests of a conversation.
        offer: Runs its next request to the end.
        look: Reads the idle engine, garbage collected.

    Returns:
        A row of `KEPT` for each, as far as the engine has them; none where mlx is not in use.
    """
    rows = [_row(look())]
    if ACTIVE not in rows[0]:
        return []
    for _ in range(turns):
        offer()
        rows.append(_row(look()))
    return rows


def settled_values(probes: Sequence[ProbeClient]) -> Values:
    """A settled sample's values of the process that has mlx loaded; empty when none has.

    Raises:
        EngineError: A process does not answer.
    """
    found = next((one for one in probes if ACTIVE in one.sample(settle=False)["values"]), None)
    values: Values = found.sample()["values"] if found else {}
    return values


def _row(values: Values) -> dict[str, float]:
    return {name: float(values[name]) for name in KEPT if name in values}
