# SPDX-License-Identifier: Apache-2.0
"""Threads change the object graph while sliced censuses walk it: nothing may crash, no thread may see an error.

    python benchmarks/heap_stress.py --seconds 120

Under gcc's address sanitizer: `csrc/heap/sanitize.sh 60`.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import random
import sys
import threading
import time
import weakref
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "soak"))

from vllm_soak.heap.census import Census
from vllm_soak.heap.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHARED: dict[str, Any] = {
    "list": [[at] for at in range(5000)],
    "dict": {(at,): [at] for at in range(5000)},
    "set": {(at,) for at in range(5000)},
    "deque": deque([at] for at in range(5000)),
    "ordered": OrderedDict(((at,), [at]) for at in range(5000)),
    "default": defaultdict(list),
}


class Node:
    """One of a chain."""

    def __init__(self, below: Node | None) -> None:
        self.below = below
        self.payload = [object(), {"key": (1, 2)}]


def build_tuples(_random: random.Random) -> None:
    """A tuple is resized while its generator runs: a reference from elsewhere would break that."""
    assert len(tuple([at] for at in range(300))) == 300


def copy_deeply(_random: random.Random) -> None:
    """Copy a graph of dicts, lists and tuples."""
    graph = {"a": [(1, [2]), {"b": {3: [4] * 20}}], "c": tuple([at] for at in range(20))}
    assert copy.deepcopy(graph) == graph


def resize_lists(chance: random.Random) -> None:
    """Grow and cut a shared list."""
    shared = SHARED["list"]
    shared.extend([at] for at in range(chance.randrange(500)))
    del shared[5000:]
    shared[chance.randrange(4000)] = [chance.random()]


def resize_mappings(chance: random.Random) -> None:
    """Insert into and delete from shared mappings."""
    for name in ("dict", "ordered", "default"):
        shared = SHARED[name]
        keys = [(chance.randrange(1 << 40), name) for _ in range(50)]
        for key in keys:
            shared[key] = [key]
        for key in keys:
            del shared[key]


def change_sets(chance: random.Random) -> None:
    """Insert into and delete from a shared set and a shared deque."""
    keys = [(chance.randrange(1 << 40),) for _ in range(50)]
    SHARED["set"].update(keys)
    SHARED["set"].difference_update(keys)
    SHARED["deque"].extend(keys)
    for _ in keys:
        SHARED["deque"].popleft()


def suspend(_random: random.Random) -> None:
    """Start generators and drop them half-way."""

    def count(below: list[Any]) -> Iterator[Any]:
        yield from below

    for _ in range(20):
        generator = count([[1], [2]])
        next(generator)
        SHARED["default"]["generator", threading.get_ident()] = generator


def make_classes(_random: random.Random) -> None:
    """Types are born and die."""
    made = type("Passing", (), {"__slots__": ("inner",)})
    one = made()
    one.inner = [one]
    SHARED["default"]["class", threading.get_ident()] = [one]


def grow_chains(_random: random.Random) -> None:
    """Chains with weak references, dropped at once."""
    node = None
    for _ in range(200):
        node = Node(node)
    SHARED["default"]["chain", threading.get_ident()] = [node, weakref.ref(node)]


WORK: tuple[Callable[[random.Random], None], ...] = (
    build_tuples,
    copy_deeply,
    resize_lists,
    resize_mappings,
    change_sets,
    suspend,
    make_classes,
    grow_chains,
)


def mutate(at: int, ends: float, errors: list[str], turns: list[int]) -> None:
    """One thread: its own work mostly, all others' now and then."""
    chance = random.Random(at)  # noqa: S311 - a schedule, not a secret
    while time.monotonic() < ends:
        work = WORK[at % len(WORK)] if chance.random() < 0.5 else chance.choice(WORK)
        try:
            work(chance)
        except BaseException as error:  # noqa: BLE001 - every error is what this looks for
            errors.append(f"{work.__name__}: {type(error).__name__}: {error}")
        turns[at] += 1


def main() -> int:
    """Run the threads and censuses; 0 when no error was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--max-pause-ms", type=float, default=1.0)
    given = parser.parse_args()
    sys.setswitchinterval(0.0005)
    errors: list[str] = []
    turns = [0] * given.threads
    ends = time.monotonic() + given.seconds
    threads = [threading.Thread(target=mutate, args=(at, ends, errors, turns)) for at in range(given.threads)]
    for thread in threads:
        thread.start()
    census, walks, partial, walker = Census(), 0, 0, ""
    while time.monotonic() < ends:
        answer = census.take(pace=Pace(max_pause_ms=given.max_pause_ms))
        walks, partial, walker = walks + 1, partial + bool(answer["partial"]), answer["walker"]
    for thread in threads:
        thread.join()
    gc.collect()
    found = {"walker": walker, "walks": walks, "partial": partial, "turns": sum(turns), "errors": errors[:10]}
    print(json.dumps(found))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
