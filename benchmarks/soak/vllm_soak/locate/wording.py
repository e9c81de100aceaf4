# SPDX-License-Identifier: Apache-2.0
"""What the rules say in the words of who asked: they speak of requests, and of the flags of `vllm-soak run`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_soak.verdict.outcome import ProcessVerdict

_FLAGS = re.compile(r" ?\((--[a-z-]+(?:, --[a-z-]+)*)\)")
_REQUESTS = re.compile(r"([\d,]+) more requests")


@dataclass(frozen=True, slots=True)
class Wording:
    """Words of a caller.

    Args:
        flags: What its own are called that do what those of `vllm-soak run` do; it lacks the others.
        more: What is done on and on, in the plural: `calls`, `seconds`.
        each: Growth is counted per one of these.
        work: Pieces of work, as the rules count it, in one of these.
    """

    flags: dict[str, str]
    more: str
    each: str
    work: int = 1

    def of(self, verdict: ProcessVerdict) -> ProcessVerdict:
        """A verdict in these words."""
        suspects = [replace(one, reason=self.say(one.reason)) for one in verdict.suspects]
        return replace(verdict, reason=self.say(verdict.reason), settle=self.say(verdict.settle), suspects=suspects)

    def say(self, text: str) -> str:
        """A text in these words."""
        text = _REQUESTS.sub(self._more, text.replace("growth per request", f"growth per {self.each}"))
        return _FLAGS.sub(self._named, text)

    def _more(self, found: re.Match[str]) -> str:
        left = -(-int(found[1].replace(",", "")) // self.work)
        return f"{left:,} more {self.more}"

    def _named(self, found: re.Match[str]) -> str:
        names = [self.flags[one] for one in found[1].split(", ") if one in self.flags]
        return f" ({', '.join(names)})" if names else ""


def of_windows(unit: str, work: int) -> Wording:
    """The words of `vllm-soak locate`, whose rounds are windows of time.

    Args:
        unit: `second`, or `CPU second`.
        work: Pieces of work in a unit, as the rules count it.
    """
    flags = {"--rounds": "--rounds", "--max-rounds": "--max-rounds", "--num-prompts": "--interval"}
    return Wording(flags, f"{unit}s", unit, work)


OF_CALLS = Wording({"--rounds": "rounds", "--max-rounds": "max_rounds", "--num-prompts": "repeat"}, "calls", "request")
