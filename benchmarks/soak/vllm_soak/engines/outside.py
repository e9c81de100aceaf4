# SPDX-License-Identifier: Apache-2.0
"""One arm of a run as it is watched from outside: where its target is a server, and otherwise not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vllm_soak.engines.soaked import Tree
from vllm_soak.steps.observation import Observation, Subject
from vllm_soak.store.writer import RunStore


class Outside:
    """Observes a server's processes through the pauses of its load; every method may be called without any.

    Args:
        name: The arm's.
        store: Where rows go.
        folder: The run folder.
        note: Takes what the user should know at once.
        on_second: Takes each second of the server's load, with the arm's name.
    """

    def __init__(
        self,
        name: str,
        store: RunStore,
        folder: Path,
        note: Callable[[str], None],
        on_second: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self._name = name
        self._store = store
        self._folder = folder
        self._note = note
        self._on_second = on_second
        self._observation: Observation | None = None

    def observe(self, tree: Tree | None, requests: Callable[[], int]) -> None:
        """Begin to watch, with the step watch at rest.

        Args:
            tree: The server's processes; None for a single host process, which is left alone.
            requests: Answers the number of requests completed so far.
        """
        if tree is None:
            return
        subject = Subject(
            root=tree.root,
            arm=self._name,
            metrics=tree.url,
            probe=tree.sockets.get,
            log=tree.log,
            requests=requests,
            note=self._note,
        )
        self._observation = Observation(self._store, self._folder, subject)
        self._observation.pause()
        self._observation.start()

    def take_event(self, event: dict[str, Any]) -> None:
        """Take what the load process tells while it offers requests; of that, the seconds.

        Raises:
            StoreError: The store cannot be written.
        """
        if self._observation and event.get("event") == "second":
            self._observation.check()
            self._observation.second(event)
            self._on_second(self._name, event)

    def resume(self) -> None:
        """A block of load begins."""
        if self._observation:
            self._observation.resume()

    def pause(self) -> None:
        """It is over."""
        if self._observation:
            self._observation.pause()

    def baseline(self) -> None:
        """Write down how the server stands, to compare later captures with."""
        if self._observation:
            self._observation.baseline()

    def settled(self) -> None:
        """Warm-up is over."""
        if self._observation:
            self._observation.steady()
            self._observation.pause()

    def stop(self) -> None:
        """Watch no more, and write what is left.

        Raises:
            StoreError: The store cannot be written.
        """
        if self._observation:
            self._observation.stop()
