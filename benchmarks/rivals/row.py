# SPDX-License-Identifier: Apache-2.0
"""From a tool's raw result to its row of the table."""

from __future__ import annotations

from statistics import median
from typing import Any

from rivals.registry import Tool, adapter_class
from rivals.session import FILLING, FULL, OFF, ON
from rivals.verdict import judged
from vllm_soak.verdict.compare import median_interval

# A baseline and something to compare with it.
FEWEST_RECORDS = 2
# An A/A interval that reaches half or double says that nothing can be told.
LEAST = 0.5


def row_of(name: str, tool: Tool, raw: dict[str, Any]) -> dict[str, Any]:
    """One row; what was not measured is None."""
    phases = {phase: result | spoken(tool, result) for phase, result in raw.get("phases", {}).items()}
    full, filling, control = (phases.get(phase, {}) for phase in (FULL, FILLING, "control"))
    beside = phases.get("beside")
    found: dict[str, Any] = {
        "tool": name,
        "title": tool.title,
        "ours": tool.ours,
        "child": tool.child,
        "failures": raw.get("failures", {}),
        "facts": raw.get("facts", {}),
        "load_average": raw.get("load_average"),
        "full": naming(full),
        "filling": naming(filling),
        "control": ratios(control),
        "unit": unit_of(name),
        "separable": separable(ratios(control), unit_of(name)),
        "throughput": ratios(phases.get("throughput", {})),
        "beside": ratios(beside or {}),
        "stop": raw.get("longest_stop"),
        "extra_bytes": beyond(full, control),
    }
    if beside:
        found["gap"], found["gap_control"] = longest(beside, ON), longest(beside, OFF)
        found["actions"] = beside.get("actions")
        found["reading"] = max((one[unit_of(name)] for one in full.get("costs", [])), default=None)
    return found


def unit_of(name: str) -> str:
    """What a tool's speed is told by: CPU time, which a shared machine does not disturb much.

    Not of a core in a child: it polls while it waits, and what it does for a reading is not this process's time.
    """
    return "seconds" if adapter_class(name).child else "cpu"


def spoken(tool: Tool, result: dict[str, Any]) -> dict[str, Any]:
    """vllm-soak's verdict over the records of a phase; nothing for tools that rank their findings themselves."""
    records = result.get("records") or []
    if not tool.ours or len(records) < FEWEST_RECORDS:
        return {}
    costs = [{unit: reading[unit] for unit in ("seconds", "cpu")} for reading in result["readings"]]
    return judged(records) | {"costs": costs}


def naming(phase: dict[str, Any]) -> dict[str, Any] | None:
    """What was named in a phase, where it ranked at best and at the end, and when that was conclusive."""
    if not phase.get("readings"):
        return None
    ranks = [reading["rank"] for reading in phase["readings"]]
    seen = [rank for rank in ranks if rank]
    kept = {key: phase[key] for key in ("named", "conclusive", "suspects", "leaks") if key in phase}
    own = next((reading["own"] for reading in reversed(phase["readings"]) if reading["own"]), "")
    requests = phase["readings"][-1]["requests"]
    return kept | {"ranks": ranks, "best": min(seen, default=None), "own": own, "requests": requests}


def ratios(phase: dict[str, Any]) -> dict[str, Any] | None:
    """Speed on over speed off, median of pairs with its 95 % interval, by CPU time and by the clock."""
    pairs = phase.get("pairs") or []
    if not pairs:
        return None
    return {"pairs": len(pairs)} | {unit: ratio(pairs, unit) for unit in ("cpu", "seconds")}


def separable(control: dict[str, Any] | None, unit: str) -> bool:
    """Whether blocks without the tool repeat well enough to tell what the tool costs."""
    return control is not None and control[unit]["low"] > LEAST and control[unit]["high"] < 1 / LEAST


def ratio(pairs: list[dict[str, dict[str, float]]], unit: str) -> dict[str, float]:
    """One ratio with its interval."""
    values = sorted(pair[OFF][unit] / max(pair[ON][unit], 1e-9) for pair in pairs)
    low, high = median_interval(values)
    return {"median": median(values), "low": low, "high": high}


def longest(phase: dict[str, Any], kind: str) -> float:
    """The longest time between two steps of a block, median over the blocks of a kind.

    The longest of all blocks is that of the machine's other users.
    """
    return median(float(pair[kind]["longest"]) for pair in phase["pairs"])


def beyond(phase: dict[str, Any], control: dict[str, Any]) -> float | None:
    """Bytes at the peak beyond what the same load takes without the tool."""
    peak, without = phase.get("extra_bytes"), control.get("extra_bytes")
    return None if peak is None or without is None else max(0.0, peak - without)
