# SPDX-License-Identifier: Apache-2.0
"""When growth would meet the limit of memory, or how small a leak the run would have seen.

Growth is bytes in use per request times requests a second; what is left is the least of the control group's limit
less what it cannot give back, and the machine's available memory. The interval is that of the slope: a straight line
is all that it says, and a leak that speeds up comes sooner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm_soak.store.outside import HOST
from vllm_soak.verdict.outcome import Outcome
from vllm_soak.verdict.series import measured_rounds

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm
    from vllm_soak.verdict.outcome import ArmVerdict, ProcessVerdict

GROWING = frozenset({Outcome.LEAK, Outcome.LEAK_NATIVE})
CONTROL_GROUP, MACHINE = "control group", "machine"


@dataclass(frozen=True, slots=True)
class Room:
    """Memory that was left at the end of the run.

    Args:
        of: Whose limit comes first: `CONTROL_GROUP` or `MACHINE`.
        limit: The limit in bytes.
        left: Bytes left below it.
    """

    of: str
    limit: float
    left: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What growth means for a server that runs on.

    Args:
        per_request: Bytes a request, all processes that leak together; None when nothing grows for sure.
        low: Lower end of its 95 % interval; None where growth is told from containers, not from bytes.
        high: Upper end.
        rate: Requests a second of the measured rounds; None when there was none.
        room: What was left; None where the run did not look.
        hours: Until the limit is met.
        soonest: Likewise at the upper end of the interval.
        latest: Likewise at its lower end.
        detectable: The smallest leak that the run would have seen, in bytes a request; None when nothing was measured.
        settled: Whether the verdict says that it grows, or that it does not; an open one says only that it may.
    """

    arm: str
    per_request: float | None = None
    low: float | None = None
    high: float | None = None
    rate: float | None = None
    room: Room | None = None
    hours: float | None = None
    soonest: float | None = None
    latest: float | None = None
    detectable: float | None = None
    settled: bool = True


def forecast(arm: Arm, verdict: ArmVerdict) -> Forecast | None:
    """Return what an arm's growth means, or None when no process was measured.

    Args:
        arm: What the arm left behind.
        verdict: What is said of it.
    """
    if not verdict.processes:
        return None
    rate, room, smallest = request_rate(arm), room_left(arm), smallest_leak(verdict.processes)
    settled = any(one.outcome in GROWING for one in verdict.processes) or verdict.outcome is not Outcome.INCONCLUSIVE
    wanted = GROWING if settled else {Outcome.INCONCLUSIVE}
    growth = growth_of([one for one in verdict.processes if one.outcome in wanted])
    if growth is None:
        return Forecast(arm.name, rate=rate, room=room, detectable=smallest, settled=settled)
    middle, low, high = growth
    return Forecast(
        arm.name,
        per_request=middle,
        low=low,
        high=high,
        rate=rate,
        room=room,
        hours=hours_until(room, rate, middle),
        soonest=hours_until(room, rate, high),
        latest=hours_until(room, rate, low),
        detectable=smallest,
        settled=settled,
    )


def request_rate(arm: Arm) -> float | None:
    """Return the requests a second of all measured rounds, as the report's table has it; None without any."""
    rounds = measured_rounds(arm)
    requests, seconds = sum(one.requests for one in rounds), sum(one.seconds for one in rounds)
    return requests / seconds if requests and seconds > 0 else None


def room_left(arm: Arm) -> Room | None:
    """Return the limit that comes first, by the last look at the machine; None when there was none.

    A control group gives back the file pages that it has not used lately before it runs out.
    """
    looks = [point.values for point in arm.points if point.process == HOST]
    if not looks:
        return None
    last, rooms = looks[-1], []
    if "cgroup_max" in last and "cgroup_current" in last:
        held = last["cgroup_current"] - last.get("cgroup_inactive_file", 0.0)
        rooms.append(Room(CONTROL_GROUP, last["cgroup_max"], max(0.0, last["cgroup_max"] - held)))
    if "mem_available" in last:
        rooms.append(Room(MACHINE, last.get("mem_total", last["mem_available"]), last["mem_available"]))
    return min(rooms, key=lambda one: one.left, default=None)


def growth_of(leaking: list[ProcessVerdict]) -> tuple[float, float | None, float | None] | None:
    """Return bytes a request of all leaking processes together with the interval, None when none grows for sure.

    Slopes of several processes add up, and their margins as independent ones do. Where bytes do not show the growth
    beyond their noise, the named containers do: that is exact, but leaves out what else grows, so it has no interval.
    """
    clear = [one.slope for one in leaking if one.slope is not None and one.slope.low > 0]
    if clear:
        middle = sum(one.per_thousand for one in clear) / 1000
        margin = math.hypot(*((one.high - one.per_thousand) / 1000 for one in clear))
        return middle, max(middle - margin, 0.0), middle + margin
    named = sum(s.bytes_per_request for one in leaking for s in one.suspects if s.outcome is Outcome.LEAK)
    return (named, None, None) if named > 0 else None


def smallest_leak(processes: list[ProcessVerdict]) -> float | None:
    """Return the smallest leak, in bytes a request, that would have been seen in whichever process it was."""
    known = [one.detectable / 1000 for one in processes if one.detectable is not None]
    return max(known) if known else None


def hours_until(room: Room | None, rate: float | None, per_request: float | None) -> float | None:
    """Return the hours until growth has used up what is left; None when that is not known, or never."""
    if room is None or rate is None or per_request is None or per_request <= 0 or rate <= 0:
        return None
    return room.left / (per_request * rate) / 3600
