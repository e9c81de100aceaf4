# SPDX-License-Identifier: Apache-2.0
"""pympler's summaries: types by number and size, compared with an earlier summary."""

from __future__ import annotations

import importlib
from typing import Any

from rivals.adapter import Adapter
from rivals.evidence import Reading


class Pympler(Adapter):
    """muppy and summary, as its tutorial has it."""

    def start(self) -> None:
        """Take the summary to compare with."""
        self.before = self._summary()

    def read(self, requests: int) -> Reading:  # noqa: ARG002 - this tool does not count
        """Types that take more bytes, the largest growth first."""
        summary: Any = importlib.import_module("pympler.summary")
        rows = [row for row in summary.get_diff(self.before, self._summary()) if row[2] > 0]
        rows.sort(key=lambda row: -row[2])
        return Reading([f"{name} {count:+} {size:+} B" for name, count, size in rows])

    @staticmethod
    def _summary() -> Any:
        muppy: Any = importlib.import_module("pympler.muppy")
        summary: Any = importlib.import_module("pympler.summary")
        return summary.summarize(muppy.get_objects())
