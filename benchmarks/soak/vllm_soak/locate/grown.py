# SPDX-License-Identifier: Apache-2.0
"""One thing that grew, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass

from vllm_soak.report.ladder import at_least, defect, entries, rungs
from vllm_soak.report.number import rate, small_size
from vllm_soak.report.printable import printable
from vllm_soak.verdict.outcome import Outcome, Suspect

# The rule of what was looked at twice only.
BEFORE_AFTER = "before-after"


@dataclass(frozen=True, repr=False)
class Grown:
    """A container, or a population of objects, that grew.

    `str()` of it is the ladder from the root of the process down to what grew.

    Args:
        suspect: What the rules said of it.
        unit: What growth is counted by: `round` or `second`.
        work_per_unit: Pieces of work in a unit.
    """

    suspect: Suspect
    unit: str = "round"
    work_per_unit: float = 1.0

    @property
    def path(self) -> str:
        """For example `service.sessions["main"].history`."""
        return self.suspect.path

    @property
    def template(self) -> str:
        """The path with indices as `[i]` and keys as `[*]`: the same from run to run."""
        return self.suspect.template

    @property
    def type(self) -> str:
        """Short name of the type."""
        return self.suspect.type

    @property
    def growth(self) -> list[int]:
        """Entries added in each measured round."""
        return self.suspect.growth

    @property
    def samples(self) -> list[str]:
        """What a few new entries look like: types, lengths, shapes and fields."""
        return self.suspect.samples

    @property
    def outcome(self) -> Outcome:
        """`leak`, `bounded` or `inconclusive`; compares equal to these strings."""
        return self.suspect.outcome

    @property
    def reason(self) -> str:
        """What the rule that decided saw, in one sentence without a full stop."""
        return self.suspect.reason

    @property
    def per_unit(self) -> float:
        """Entries added per round (or second)."""
        return self.suspect.per_request * self.work_per_unit

    @property
    def bytes_per_unit(self) -> float:
        """Bytes added per round (or second)."""
        return self.per_unit * self.suspect.bytes_per_entry

    def __repr__(self) -> str:
        suspect = self.suspect
        what = "grew" if suspect.rule == BEFORE_AFTER else self.outcome.value
        growth = f"{rate(self.per_unit)}/{self.unit}" if self.growth else "more than before"
        return f"<Grown {what}: {printable(self.path)} {growth}, {suspect.length_last:,} items of {suspect.type}>"

    def __str__(self) -> str:
        suspect = self.suspect
        ladder = [line.text.replace("(no measured round)", "(more than before)") for line in rungs(suspect, None)]
        known = [f"  {'   '.join(defect(suspect))}"] if suspect.known_defect else []
        return "\n".join([self._head(), *ladder, *known, *entries(suspect), f"  {printable(self.reason)}"])

    def _head(self) -> str:
        title = "GREW" if self.suspect.rule == BEFORE_AFTER else self.outcome.value.upper()
        least = at_least(self.suspect)
        growth = [f"{rate(self.per_unit)} objects/{self.unit}", f"{least}{rate(self.bytes_per_unit)} B/{self.unit}"]
        each = f"{least}{small_size(self.suspect.bytes_per_entry)}/object"
        return f"{title}  " + "   ".join([*(growth if self.growth else []), each])
