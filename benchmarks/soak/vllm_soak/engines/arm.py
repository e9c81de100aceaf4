# SPDX-License-Identifier: Apache-2.0
"""One arm of a run on the controller's side: its target, the probes of its processes, and its rows in the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vllm_soak.engines.ending import EngineStalledError
from vllm_soak.engines.examination import Examination
from vllm_soak.engines.loaded import limited_by_client, remarks, too_many_failed
from vllm_soak.engines.outside import Outside
from vllm_soak.engines.patch_cost import switched_blocks
from vllm_soak.engines.soaked import Soaked
from vllm_soak.engines.turns import settled_values, turn_by_turn
from vllm_soak.errors import EngineError
from vllm_soak.plan import Plan
from vllm_soak.probe.client import ProbeClient
from vllm_soak.sampling.histogram import merge_snapshots
from vllm_soak.store.record import MEASURED, PatchRow, Round
from vllm_soak.store.writer import RunStore


class ArmRunner:
    """Runs one arm and writes what it yields as it comes.

    Args:
        name: `unpatched`, `patched` or `run`.
        plan: The run's plan.
        target: The engine, not yet started.
        start: Arguments of the target's `start` command.
        store: Where rows go.
        folder: The run folder.
        note: Takes what the user should know at once: an engine that says nothing.
        on_second: Takes each second of a server's load, with the arm's name.

    Attributes:
        examination: What its processes are asked after each round.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        target: Soaked,
        start: dict[str, Any],
        store: RunStore,
        folder: Path,
        note: Callable[[str], None] = lambda _: None,
        on_second: Callable[[str, dict[str, Any]], None] = lambda _name, _event: None,
    ) -> None:
        self.name = name
        self.plan = plan
        self.target = target
        self.start = start
        self.store = store
        self.folder = folder
        self.note = note
        self.requests = 0
        self.facts: dict[str, Any] = {}
        self.examination = Examination(name, store, plan.watch, contents=plan.show_contents)
        self._pieces: list[dict[str, Any]] = []
        self._done = 0
        self._said: set[str] = set()
        self._outside = Outside(name, store, folder, note, on_second)
        self._stopped = False

    def launch(self) -> None:
        """Start the engine without waiting for it."""
        self._guarded(self.target.launch)

    def wait_ready(self) -> None:
        """Wait until the engine takes requests, and record its facts and patches.

        Raises:
            EngineError: The engine did not start.
        """
        self.facts = self._guarded(lambda: self.target.request("start", **self.start))
        self.store.add_facts(self.name, self.facts)
        self._outside.observe(self.target.tree(), lambda: self.requests + self._done)
        for probe in self._probes():
            patches = self._guarded(probe.patches)
            self.store.add_patches([PatchRow(arm=self.name, **row) for row in patches])

    def load(self, count: int, on_progress: Callable[[int], None]) -> None:
        """Run one block of requests to the end.

        Args:
            count: Requests of the block.
            on_progress: Takes the requests of the block completed so far, now and then.

        Raises:
            EngineError: The engine died or refused the work.
        """
        self._outside.resume()
        done = self._guarded(
            lambda: self.target.request(
                "load",
                on_progress=lambda done, _: self._advance(done, on_progress),
                on_silence=self._note_silence,
                on_event=self._outside.take_event,
                requests=count,
                first=self.requests,
                max_concurrency=self.plan.max_concurrency,
                request_rate=self.plan.as_json()["request_rate"],
                burstiness=self.plan.burstiness,
            )
        )
        self._outside.pause()
        self._done = 0
        self.requests += int(done["requests"])
        self._pieces.append(done)
        self._judge_load(done)

    @property
    def loaded(self) -> int:
        """Requests completed so far in the round under way."""
        return sum(int(piece["requests"]) for piece in self._pieces)

    def finish_round(self, index: int, phase: str) -> None:
        """Record the round, then settle, sample and walk the idle engine.

        Raises:
            EngineError: The engine died.
        """
        pieces, self._pieces = self._pieces, []
        self.store.add_round(self._round(index, phase, pieces))
        if phase == MEASURED and (slow := limited_by_client(pieces)):
            self._say_once(slow)
        self._guarded(lambda: self.examination.examine(self._probes(), index, phase, self.requests))

    def converse(self) -> None:
        """Hold one conversation, and record what an engine on mlx has after each of its turns.

        Raises:
            EngineError: The engine died.
        """
        rows = turn_by_turn(self.plan.turns, self._turn, lambda: self._guarded(lambda: settled_values(self._probes())))
        if rows:
            self.facts = {**self.facts, "turns": rows}
            self.store.add_facts(self.name, self.facts)

    def _turn(self) -> None:
        self.load(1, lambda _done: None)
        self._pieces.pop()

    def compare_cost(self, pairs: int, size: int) -> None:
        """Offer neighbouring blocks with the patches off and on, and record their rates.

        The memory of the rounds before is sampled already.

        Raises:
            EngineError: The engine died.
        """
        blocks = switched_blocks(lambda on: self._rate(size, on=on), pairs)
        self._guarded(lambda: self.target.request("patches", on=True))
        self.store.add_facts(self.name, {**self.facts, "switched_blocks": blocks})

    def _rate(self, size: int, *, on: bool) -> float:
        self._guarded(lambda: self.target.request("patches", on=on))
        self.load(size, lambda _done: None)
        done = self._pieces.pop()
        return float(done["requests"]) / float(done["seconds"])

    def stop(self) -> None:
        """Stop the process and whatever it started; what that cuts short is not the engine's failure."""
        self._stopped = True
        try:
            self._outside.stop()
        finally:
            self.target.stop()

    def baseline(self) -> None:
        """Write down how a server stands, to compare later captures with."""
        self._outside.baseline()

    def settled(self) -> None:
        """Warm-up is over."""
        self._outside.settled()

    def _round(self, index: int, phase: str, pieces: list[dict[str, Any]]) -> Round:
        return Round(
            arm=self.name,
            index=index,
            phase=phase,
            requests=sum(piece["requests"] for piece in pieces),
            total_requests=self.requests,
            seconds=sum(piece["seconds"] for piece in pieces),
            prompt_tokens=sum(piece["prompt_tokens"] for piece in pieces),
            output_tokens=sum(piece["output_tokens"] for piece in pieces),
            latency=merge_snapshots([piece["latency"] for piece in pieces]),
            blocks=[(piece["requests"], piece["seconds"]) for piece in pieces],
        )

    def _advance(self, done: int, on_progress: Callable[[int], None]) -> None:
        self._done = done
        on_progress(done)

    def _judge_load(self, done: dict[str, Any]) -> None:
        """Say what was wrong with a block, each kind once; refuse one that did another work than the others.

        Raises:
            EngineError: Too many requests failed.
        """
        for text in remarks(done):
            self._say_once(text)
        if failure := too_many_failed(done):
            self.store.fail_arm(self.name, str(failure))
            raise failure

    def _say_once(self, text: str) -> None:
        """Keep a warning, unless one of its kind (what stands before the colon) was said before."""
        kind = text.partition(":")[0]
        if kind not in self._said:
            self._said.add(kind)
            self.store.add_event(self.name, "warning", text)

    def _note_silence(self, seconds: float) -> None:
        self.note(f"{self.name}: the engine has made no progress for {seconds:.0f} s")

    def _probes(self) -> list[ProbeClient]:
        return [ProbeClient(socket) for socket in self.target.probe_sockets()]

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """Run an action of the target; a failure of the engine is recorded with the arm."""
        try:
            return action()
        except EngineError as failure:
            if self._stopped:
                raise
            cause = self._better(failure)
            self.store.fail_arm(self.name, str(cause))
            raise cause from failure

    def _better(self, failure: EngineError) -> EngineError:
        """What became of the engine, where that explains a failure: a dead peer of the probe is its death."""
        held = self.target.held()
        if (died := self.target.death()) or not held or isinstance(failure, EngineStalledError):
            return died or failure
        cause = f"{' and '.join(held)} was stopped by a signal: {failure.cause}"
        return EngineStalledError(cause, "find out what sent SIGSTOP, and run again", [])
