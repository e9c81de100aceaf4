# SPDX-License-Identifier: Apache-2.0
"""The containers of a process that grew, each with what its growth was judged to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_soak.verdict.companions import beside_limited
from vllm_soak.verdict.defects import known_defect, patch_status
from vllm_soak.verdict.explained import is_explained, rank
from vllm_soak.verdict.growth import judge_growth
from vllm_soak.verdict.lengths import growth_of
from vllm_soak.verdict.outcome import Outcome, Suspect
from vllm_soak.verdict.series import Series, measured_rounds
from vllm_soak.verdict.track import Track, tracks

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, Population
    from vllm_soak.verdict.finding import Finding

ORDER = (Outcome.LEAK, Outcome.INCONCLUSIVE, Outcome.BOUNDED)

Judged = tuple["Suspect", "Finding", Series]


def judge_containers(arm: Arm, process: str) -> list[Judged]:
    """Return suspects with finding and series: leaks first, then by bytes and entries a request.

    A registry of weak references, and objects without a root, are left out when a leak explains them.
    """
    judged, seconds = [], seconds_before_last(arm)
    for track in tracks(arm, process):
        finding = judge_growth(growth_of(track, seconds))
        if finding is not None:
            judged.append((suspect(arm, track, finding), finding, track.series))
    judged = beside_limited(judged)
    found = [one for one, _, _ in judged]
    return sorted((one for one in judged if not is_explained(one[0], found)), key=lambda one: _rank(one[0]))


def seconds_before_last(arm: Arm) -> float:
    """Seconds of load before the last measured round.

    A cache that is emptied by age has stopped in a round that began after that age; in one that met it half-way it only
    grew a little less.
    """
    last = max((one.index for one in measured_rounds(arm)), default=0)
    return sum(one.seconds for one in arm.rounds if one.index < last)


def suspect(arm: Arm, track: Track, finding: Finding) -> Suspect:
    """Return a container's record, bytes and known defect included."""
    last, series = track.rows[-1], track.series
    defect = known_defect(last.template)
    each, rate = bytes_per_entry(last), series.total / max(series.work, 1)
    return Suspect(
        process=last.process,
        path=last.path,
        template=last.template,
        fingerprint=last.fingerprint,
        type=last.type,
        steps=last.steps,
        length_first=int(series.values[0]),
        length_last=last.length,
        growth=[int(step) for step in series.growth],
        requests=series.spans,
        per_request=rate,
        bytes_per_entry=each,
        bytes_per_request=each * rate,
        outcome=finding.outcome,
        rule=finding.rule,
        reason=f"{finding.reason}; {last.weak}" if last.weak else finding.reason,
        bound=last.bound,
        known_defect=defect.name if defect else "",
        upstream=defect.upstream if defect else "",
        affected=defect.affected if defect else "",
        patch_status=patch_status(arm.patches, last.process, defect),
        workaround=defect.workaround if defect else "",
        bytes_at_least=last.exclusive_per_entry is None,
        weak=last.weak,
        samples=last.samples,
    )


def bytes_per_entry(row: Population) -> float:
    """Return the container's own bytes per entry plus what only it keeps alive of an entry, where that was measured."""
    own = row.shallow_bytes / row.length if row.length else 0.0
    return own + (row.exclusive_per_entry or 0.0)


def _rank(found: Suspect) -> tuple[int, int, float, float, str]:
    return (ORDER.index(found.outcome), rank(found), -found.bytes_per_request, -found.per_request, found.path)
