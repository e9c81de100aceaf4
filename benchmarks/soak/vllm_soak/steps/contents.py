# SPDX-License-Identifier: Apache-2.0
"""What goes into a capture, what is gone soonest first. Whatever cannot be had is a note, never an error."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from vllm_soak.errors import SoakError
from vllm_soak.observe.gpu import Gpus
from vllm_soak.observe.log_tail import tail
from vllm_soak.observe.role import is_helper
from vllm_soak.probe.client import ProbeClient
from vllm_soak.steps.process_pages import host_page, mappings, process_page, threads_page
from vllm_soak.steps.shelf import Shelf
from vllm_soak.steps.stacks import dump

# One capture, in all; when it is used up, what is left is not taken, and the notes say so.
LONGEST_SECONDS = 90.0
STACK_SECONDS = 10.0
NATIVE_SECONDS = 20.0
PROBE_SECONDS = 30.0
# One dump shows a moment; three, a second apart, show where a thread is most of the time.
DUMPS = 3
CENSUS_PAUSE_MS = 5.0
LOG_LINES = 200


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a capture looks.

    Args:
        processes: Answers the pids of the target's processes by role.
        probe: Answers the socket of a pid's probe, or None where none is armed.
        log: The server's log, or None.
        pages: Answers further files by name: the last minutes of the series that stepped.
    """

    processes: Callable[[], Mapping[str, int]]
    probe: Callable[[int], Path | None] = lambda _pid: None
    log: Path | None = None
    pages: Callable[[], Mapping[str, str]] = dict


def fill(shelf: Shelf, sources: Sources, until: float) -> None:
    """Take everything, what is gone soonest first, as long as there is time.

    Args:
        shelf: Where files go.
        sources: Where to look.
        until: When to stop beginning new things, on `time.monotonic()`.
    """
    processes = {role: pid for role, pid in sources.processes().items() if not is_helper(role)}
    steps: list[Callable[[], None]] = [
        lambda: stacks(shelf, processes, until),
        lambda: pages(shelf, processes, sources),
        lambda: collectors(shelf, processes, sources),
        lambda: native_stacks(shelf, processes, until),
        lambda: censuses(shelf, processes, sources),
    ]
    for step in steps:
        if time.monotonic() >= until:
            shelf.note(f"the capture was cut short after {LONGEST_SECONDS:g} s")
            return
        try:
            step()
        except Exception as error:  # noqa: BLE001 - a capture must not end the run that it explains
            shelf.note(f"{type(error).__name__} while capturing: {error}")


def stacks(shelf: Shelf, processes: Mapping[str, int], until: float) -> None:
    """Dump the Python stacks of every process, a few times."""
    texts: dict[str, list[str]] = {}
    for number in range(DUMPS):
        for role, pid in processes.items():
            if time.monotonic() < until and (number == 0 or role in texts):
                text, why = dump(pid, native=False, seconds=STACK_SECONDS)
                shelf.note(why)
                if text:
                    texts.setdefault(role, []).append(text)
        if number < DUMPS - 1 and texts:
            time.sleep(1.0)
    for role, dumps in texts.items():
        shelf.put(f"stacks-{file_name(role)}.txt", "\n".join(f"== dump {at}\n{one}" for at, one in enumerate(dumps, 1)))


def native_stacks(shelf: Shelf, processes: Mapping[str, int], until: float) -> None:
    """Dump the stacks once more with native frames, where that is possible."""
    for role, pid in processes.items():
        left = until - time.monotonic()
        if left > 0:
            text, why = dump(pid, native=True, seconds=min(NATIVE_SECONDS, left))
            shelf.put(f"native-{file_name(role)}.txt", text)
            shelf.note(f"native frames: {why}" if why else "")


def pages(shelf: Shelf, processes: Mapping[str, int], sources: Sources) -> None:
    """Write what /proc, NVML and the log say."""
    for role, pid in processes.items():
        name = file_name(role)
        shelf.put(f"process-{name}.txt", process_page(pid))
        shelf.put(f"threads-{name}.txt", threads_page(pid))
        shelf.put(f"smaps-{name}.txt.gz", gzip.compress(mapped) if (mapped := mappings(pid)) else b"")
    shelf.put("host.txt", host_page(next(iter(processes.values()), 0)))
    gpus = Gpus()
    shelf.note(gpus.missing)
    devices = gpus.devices() | {f"process_{pid}": used for pid, used in gpus.processes().items()}
    gpus.close()
    shelf.put("gpu.json", to_json(devices) if devices else "")
    shelf.put("log.txt", "\n".join(tail(sources.log, LOG_LINES)) if sources.log is not None else "")
    for name, text in sources.pages().items():
        shelf.put(name, text)


def collectors(shelf: Shelf, processes: Mapping[str, int], sources: Sources) -> None:
    """Ask each probe for its garbage collector's thresholds and statistics."""
    for role, probe in probes(shelf, processes, sources):
        asked(shelf, "gc", role, probe.collector)


def censuses(shelf: Shelf, processes: Mapping[str, int], sources: Sources) -> None:
    """Ask each probe what has grown since the run's last census, without disturbing the next one."""
    for role, probe in probes(shelf, processes, sources):
        asked(shelf, "census", role, partial(probe.census, max_pause_ms=CENSUS_PAUSE_MS, aside=True))


def asked(shelf: Shelf, what: str, role: str, question: Callable[[], dict[str, Any]]) -> None:
    """Put a probe's answer into a file; a probe that does not answer is noted."""
    try:
        shelf.put(f"{what}-{file_name(role)}.json", to_json(question()))
    except SoakError as error:
        shelf.note(f"no {what} of {role}: {error}")


def probes(shelf: Shelf, processes: Mapping[str, int], sources: Sources) -> list[tuple[str, ProbeClient]]:
    """Return the probes of the processes that have one; a process without is noted."""
    found = []
    for role, pid in processes.items():
        socket = sources.probe(pid)
        if socket is not None and socket.exists():
            found.append((role, ProbeClient(socket, quick=PROBE_SECONDS, slow=PROBE_SECONDS)))
        else:
            shelf.note(f"no probe in {role}: neither garbage collector nor census")
    return found


def file_name(role: str) -> str:
    """Return a role as part of a file's name."""
    return re.sub(r"[^\w.-]+", "_", role)[:80] or "process"


def to_json(value: Any) -> str:
    """Return JSON that people can read."""
    return json.dumps(value, indent=1, default=str)
