# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from vllm_soak.locate.journal import PATH_BYTES, ROW_BYTES, Journal


def answer(*lengths: int) -> dict[str, Any]:
    """A census's answer with one container for each length."""
    rows = [
        {
            "path": f"service.kept{at}",
            "template": f"service.kept{at}",
            "fingerprint": "0" * 12,
            "type": "list",
            "length": length,
            "shallow_bytes": 8 * length,
            "grown": length,
            "steps": [{"label": "service", "type": "Service"}],
            "samples": [f"object number {length}"],
        }
        for at, length in enumerate(lengths)
    ]
    return {"objects": 1, "containers": 1, "seconds": 0.1, "walker": "native", "partial": "", "populations": rows}


def test_a_row_shares_what_it_says_again() -> None:
    journal = Journal("python", 1)
    for length in (10, 20):
        journal.add(answer(length), work=1, seconds=0.1, measured=True)
    before, now = journal.arm.populations
    assert (before.length, now.length) == (10, 20)
    assert (before.round, now.round) == (0, 1)
    assert (before.samples, now.samples) == (["object number 10"], ["object number 20"])
    assert now.path is before.path
    assert now.steps is before.steps


def test_what_is_kept_is_counted_by_rows_and_paths() -> None:
    journal = Journal("python", 1)
    assert journal.own_bytes == 0
    for lengths in ((10, 10), (20, 20, 20)):
        journal.add(answer(*lengths), work=1, seconds=0.1, measured=True)
    assert journal.own_bytes == 5 * ROW_BYTES + 3 * PATH_BYTES
