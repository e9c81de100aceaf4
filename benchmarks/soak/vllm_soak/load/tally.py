# SPDX-License-Identifier: Apache-2.0
"""Counts of what became of requests: for a part of the mix, for a whole load, for one second.

All of fixed size, however many requests there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vllm_soak.load.answer import Answer
from vllm_soak.sampling.histogram import Histogram, merge_snapshots, quantile

OUTCOMES = ("completed", "failed", "aborted", "rejected")
# Of these the engine has processed the prompt, or may have.
SERVED = ("completed", "aborted")
# Kinds are few, but an odd proxy could answer with any status.
MOST_KINDS = 32
OTHER = "other"


class Latency:
    """Durations as a histogram, and the longest."""

    def __init__(self) -> None:
        self._histogram = Histogram()
        self._longest = 0.0

    def record(self, seconds: float) -> None:
        """Count one duration."""
        self._histogram.record(seconds)
        self._longest = max(self._longest, seconds)

    def snapshot(self) -> dict[str, Any]:
        """As of the histogram."""
        return self._histogram.snapshot()

    def summary(self) -> dict[str, float]:
        """`p50`, `p90`, `p99` (upper bounds of their buckets, 5 % wide), `max` in seconds and `count`; or nothing."""
        snapshot = self._histogram.snapshot()
        quantiles = {f"p{round(100 * share)}": quantile(snapshot, share) for share in (0.5, 0.9, 0.99)}
        found = {name: min(value, self._longest) for name, value in quantiles.items() if value is not None}
        return {**found, "max": self._longest, "count": sum(snapshot["counts"])} if found else {}


class Errors:
    """Failures by kind, with one text of each."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def add(self, kind: str, text: str) -> None:
        """Count one failure; kinds beyond the 32nd are counted together."""
        kind = kind if kind in self.counts or len(self.counts) < MOST_KINDS else OTHER
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.examples.setdefault(kind, text)


class Tally:
    """Counts, tokens and times of requests that have ended."""

    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(OUTCOMES, 0)
        self.prompt_tokens = self.output_tokens = 0
        self.latency, self.first_token, self.inter_token = Latency(), Latency(), Latency()
        self.errors = Errors()

    @property
    def requests(self) -> int:
        """Requests that have ended, in whatever way."""
        return sum(self.outcomes.values())

    def add(self, answer: Answer, prompt_tokens: int) -> None:
        """Count one request.

        Args:
            answer: What became of it.
            prompt_tokens: Tokens of its prompt where the server did not say.
        """
        self.outcomes[answer.outcome] += 1
        if answer.outcome in SERVED:
            self.prompt_tokens += answer.prompt_tokens or prompt_tokens
            self.output_tokens += answer.output_tokens
        if answer.outcome == "completed":
            self._times(answer)
        elif answer.outcome == "failed":
            self.errors.add(answer.kind, answer.text)

    def counts(self) -> dict[str, int]:
        """The four counts and the tokens."""
        return {**self.outcomes, "prompt_tokens": self.prompt_tokens, "output_tokens": self.output_tokens}

    def summary(self) -> dict[str, Any]:
        """One second's row."""
        times = {name: getattr(self, name).summary() for name in ("latency", "first_token", "inter_token")}
        return {**self.counts(), **times, "errors": dict(self.errors.counts)}

    def _times(self, answer: Answer) -> None:
        self.latency.record(answer.seconds)
        if answer.first_token is not None:
            self.first_token.record(answer.first_token)
        for gap in answer.gaps:
            self.inter_token.record(gap)


def total(parts: Iterable[Tally]) -> dict[str, Any]:
    """All parts of a mix together, as fields of `loaded`."""
    tallies = list(parts)
    counts: dict[str, Any] = {"requests": sum(one.requests for one in tallies)}
    for name in Tally().counts():
        counts[name] = sum(one.counts()[name] for one in tallies)
    for name in ("latency", "first_token", "inter_token"):
        counts[name] = merge_snapshots(getattr(one, name).snapshot() for one in tallies)
    errors: dict[str, int] = {}
    examples: dict[str, str] = {}
    for one in tallies:
        examples = {**one.errors.examples, **examples}
        for kind, count in one.errors.counts.items():
            errors[kind] = errors.get(kind, 0) + count
    return {**counts, "errors": errors, "examples": examples}
