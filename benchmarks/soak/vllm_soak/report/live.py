# SPDX-License-Identifier: Apache-2.0
"""The live view of a run: what each arm is doing, second by second, below the notes; plain lines in a CI log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from vllm_soak.report.number import count, size
from vllm_soak.report.progress import Progress, make_bar
from vllm_soak.report.standing import Standing, milliseconds, standing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console, RenderableType

    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict

FRAMES_PER_SECOND = 4
# Rows in this order, whichever arm has them.
ROWS = ("rounds", "rate", "latency", "failed")
LAST_ROWS = ("suspects", "so far")
GOOD = ("no-leak", "bounded", "gc-deferred", "fragmentation")
TONES = {"leak": "bold red", "leak-native": "bold red", **dict.fromkeys(GOOD, "bold green")}


class LiveView(Progress):
    """Progress with a table of the arms below the bar.

    Args:
        console: Where to show it; not a terminal means plain lines.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.live: Live | None = None
        self.standings: dict[str, Standing] = {}
        self.seconds: dict[str, Mapping[str, Any]] = {}

    def start_bar(self) -> None:
        """Begin a new phase in the view."""
        if self.bar is None:
            self.bar = make_bar(self.console)
            self.live = Live(
                get_renderable=self.render,
                console=self.console,
                refresh_per_second=FRAMES_PER_SECOND,
                transient=True,
            )
            self.live.start()
        if self.task is not None:
            self.bar.remove_task(self.task)
        self.task = self.bar.add_task(self.title, total=None, counts="")

    def second(self, arm: str, event: Mapping[str, Any]) -> None:
        """Take a second of an arm's load, as the load process tells it."""
        self.seconds[arm] = event

    def judged(self, run: RunData, verdict: RunVerdict, arms: list[str]) -> None:
        """Take how arms stand after a round."""
        for name in arms:
            now = standing(run, verdict, name)
            if now is None:
                continue
            self.standings[name] = now
            self.seconds.pop(name, None)
            if not self.console.is_terminal:
                self.line(f"  {now.line()}")

    def close(self) -> None:
        """Remove the view."""
        if self.live is not None:
            self.live.stop()
        self.live = self.bar = self.task = None

    def render(self) -> RenderableType:
        """The bar, and a table of the arms once there is something to say."""
        bar = self.bar.get_renderable() if self.bar is not None else Text()
        names = list(dict.fromkeys([*self.standings, *self.seconds]))
        return Group(bar, self.table(names)) if names else bar

    def table(self, names: list[str]) -> Grid:
        """The arms side by side."""
        grid = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        grid.add_column(style="dim")
        for name in names:
            grid.add_column(Text(name), overflow="fold")
        columns = [self.column(name) for name in names]
        found = dict.fromkeys(title for column in columns for title in column)
        middle = [title for title in found if title not in (*ROWS, *LAST_ROWS)]
        for title in (title for title in (*ROWS, *middle, *LAST_ROWS) if title in found):
            grid.add_row(title, *(column.get(title, Text()) for column in columns))
        return grid

    def column(self, name: str) -> dict[str, Text]:
        """What is known of one arm, by the title of its row; what a second says replaces the last round's."""
        now, second = self.standings.get(name), self.seconds.get(name)
        rows = {} if now is None else of_round(now)
        return {**rows, **({} if second is None else of_second(second))}


def of_second(event: Mapping[str, Any]) -> dict[str, Text]:
    """Rate and latency of one second."""
    latency, failed = event.get("latency") or {}, event.get("failed")
    rows = {
        "rate": Text(f"{count(event.get('completed'))} requests/s"),
        "latency": Text(f"p50 {milliseconds(latency.get('p50'))}, p99 {milliseconds(latency.get('p99'))}"),
    }
    return {**rows, "failed": Text(f"{count(failed)} in the last second", "yellow")} if failed else rows


def of_round(now: Standing) -> dict[str, Text]:
    """What the last round and its verdict said."""
    measured, warm = now.rounds
    rows = {
        "rounds": Text(f"{measured} measured, {warm} warm-up; {count(now.requests)} requests"),
        "rate": Text(f"{count(now.rate)} requests/s"),
    }
    if now.latency_text:
        rows["latency"] = Text(now.latency_text)
    for name, (bytes_now, grown) in now.memory.items():
        rows[f"in use, {name}"] = Text(f"{size(bytes_now)} ({size(grown, signed=True)})")
    if now.suspects:
        rows["suspects"] = Text("\n".join(now.suspects))
    if now.outcome:
        rows["so far"] = Text(now.outcome, TONES.get(now.outcome, "bold yellow"))
    return rows
