# SPDX-License-Identifier: Apache-2.0
"""What a probe can be asked. Nothing else can be, and nothing that is asked names code to run."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

import vllm_soak
from vllm_soak.heap.census import Census
from vllm_soak.heap.pace import WHOLE, Pace
from vllm_soak.patching.status import report
from vllm_soak.probe.role import role
from vllm_soak.sampling.collector import collector_details
from vllm_soak.sampling.process import process
from vllm_soak.sampling.sample import take_sample
from vllm_soak.sampling.watch import lengths

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_PATHS = 100
# Limits of `max_pause_ms`: below, a walk would not get anywhere; above, it may as well be whole.
_SHORTEST_MS, _LONGEST_MS = 0.1, 1000.0


class Commands:
    """The probe's commands, with the state that one census hands to the next.

    Args:
        hidden: Objects of the probe, which no census reports.
    """

    def __init__(self, hidden: tuple[object, ...] = ()) -> None:
        self._census = Census(hidden=(self, *hidden))
        self._known: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "ping": self._ping,
            "sample": self._sample,
            "census": self._take_census,
            "patches": self._patches,
            "gc": self._collector,
        }

    def answer(self, request: object) -> dict[str, Any]:
        """The answer to a request, an `error` among them; never raises."""
        asked: dict[str, Any] = request if isinstance(request, dict) else {}
        command = asked.get("command")
        known = self._known.get(command) if isinstance(command, str) else None
        if known is None:
            return error("the probe was asked something that it does not know", f"ask one of {', '.join(self._known)}")
        try:
            return known(asked)
        except Exception as failure:  # noqa: BLE001 - whatever went wrong here is not the engine's to suffer
            return error(f"the probe failed with {type(failure).__name__}: {failure}", "report this as a defect")

    def _ping(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "process": role(),
            "version": vllm_soak.__version__,
            "python": platform.python_version(),
        }

    def _sample(self, request: dict[str, Any]) -> dict[str, Any]:
        paths = [path for path in request.get("watch") or [] if isinstance(path, str)]
        if request.get("named") is True:  # both at the same moment, and nothing that takes longer
            return {"values": process(), "lengths": lengths(paths[:_MOST_PATHS]), "named": self._census.lengths()}
        return take_sample(settled=request.get("settle") is True, watch=paths[:_MOST_PATHS])

    def _take_census(self, request: dict[str, Any]) -> dict[str, Any]:
        census = self._census.aside() if request.get("aside") is True else self._census
        found = census.take(
            baseline=request.get("baseline") is True,
            pace=_pace(request.get("max_pause_ms")),
            retained=request.get("retained") is True,
            contents=request.get("contents") is True,
        )
        process = role()
        return {**found, "populations": [{"process": process, **row} for row in found["populations"]]}

    def _collector(self, _request: dict[str, Any]) -> dict[str, Any]:
        return collector_details()

    def _patches(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {"patches": report(role())}


def _pace(max_pause_ms: object) -> Pace:
    """The pace that was asked for; a walk in one piece when none was, or none that makes sense."""
    if type(max_pause_ms) not in {int, float} or not _SHORTEST_MS <= max_pause_ms <= _LONGEST_MS:  # type: ignore[operator]
        return WHOLE
    return Pace(max_pause_ms=float(max_pause_ms))  # type: ignore[arg-type]


def error(cause: str, remedy: str) -> dict[str, Any]:
    """An answer that says what went wrong and what can be done about it."""
    return {"error": {"cause": cause, "remedy": remedy}}
