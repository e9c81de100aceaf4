# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind, as typed rows: the one model that store, verdict and report share.

Bytes are bytes, times are seconds, and the x axis of every series is requests completed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vllm_soak.store.outside import Capture, LevelStep, Point, ProcessEvent

WARM_UP = "warm-up"
MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of one process, taken while the engine was idle after a round.

    Args:
        values: Named numbers. Memory in bytes: `rss`, `rss_anon`, `swap`, `hwm`, `pss`, `uss`,
            `in_use` (rss_anon + swap after collection and trim), `gc_freed`, `trim_returned`;
            `allocated` (handed out by glibc and not given back; exact, without Python's small-object arenas),
            glibc's `malloc_arena`, `malloc_hblkhd`, `malloc_uordblks`, `malloc_fordblks`;
            `python_blocks`, `gc_objects` (unreachable objects that settling found), `gc_count0..2`,
            `gc_collections`, `gc_collected`, `gc_uncollectable`,
            `gc_frozen`, `threads`, `fds`, `cpu_user_jiffies`, `cpu_system_jiffies`, and
            `torch_allocated`, `torch_reserved` where there is a GPU. A value that could not be
            read is absent, never zero.
        lengths: `len()` of each container asked for with `--watch PATH`; absent when the path
            did not resolve.
        garbage: Cycles among what settling collected, the most frequent first, each as `ring` (its members by
            type and attribute), `count` (of its first member) and `objects` (of all unreachable objects).
    """

    arm: str
    process: str
    pid: int
    phase: str
    round: int
    requests: int
    elapsed: float
    values: dict[str, float] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    garbage: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Round:
    """One round of identical work.

    Args:
        requests: Requests completed in this round.
        total_requests: Requests completed by this arm since its start, this round included.
        seconds: Time under load, without settling and sampling.
        latency: Histogram of request latency in this round, as
            `{"bounds": [seconds...], "counts": [...], "sum": seconds}`; `counts` has one entry
            a bucket, and one more than `bounds` (the overflow).
        blocks: `(requests, seconds)` of each contiguous piece of the round; pieces of two arms
            that stand at the same place were run next to each other and are compared in pairs.
    """

    arm: str
    index: int
    phase: str
    requests: int
    total_requests: int
    seconds: float
    prompt_tokens: int = 0
    output_tokens: int = 0
    latency: dict[str, Any] = field(default_factory=dict)
    blocks: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """One rung of a path, from the root down.

    Args:
        label: How the rung is reached from the one above, by API: `scheduler`, `["id"]`, `[0]`.
        type: Short name of the type of the object that is reached.
    """

    label: str
    type: str


@dataclass(frozen=True, slots=True)
class Population:
    """One container as a census saw it after a round.

    Args:
        path: Attribute path, for example `engine.scheduler.single_type_managers[0].new_block_ids`.
        template: The same path with indices as `[i]` and keys as `[*]`.
        fingerprint: Twelve hex digits, stable across runs, releases and machines.
        type: Short type name, for example `list`.
        length: `len()` at this census.
        shallow_bytes: `sys.getsizeof()` of the container alone.
        exclusive_per_entry: Bytes of an entry that only this container keeps alive, the mean of a
            few recent entries, without the container's own slot; None when it was not measured.
        bound: The greatest length that this container can have, when a rule knows it.
        bound_reason: That rule, in words.
        entry_types: Type names of a few recent entries.
        grown: Entries gained since the previous census (0 when it is listed so that its series has no
            holes); None when that is not known.
        limit: A number beside the container that reads like its limit (`maxsize`, `capacity`), at least its length;
            a hint and no bound, since nobody has seen it stop there.
        limit_name: Where that number stands.
        age: Seconds, where a number beside the container reads like the age at which its entries are dropped (`ttl`).
        age_name: Where that number stands.
        weak: Why it keeps nothing alive (a registry of weak references), or an empty string.
        samples: What a few new entries look like: types, lengths and fields, no contents unless asked for.
    """

    arm: str
    process: str
    round: int
    requests: int
    path: str
    template: str
    fingerprint: str
    type: str
    length: int
    shallow_bytes: int
    exclusive_per_entry: float | None = None
    bound: int | None = None
    bound_reason: str = ""
    steps: list[Step] = field(default_factory=list)
    entry_types: list[str] = field(default_factory=list)
    grown: int | None = None
    limit: int | None = None
    limit_name: str = ""
    age: float | None = None
    age_name: str = ""
    weak: str = ""
    samples: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Census:
    """One walk of the heap: how much was seen, and what it cost.

    Args:
        partial: Why the walk did not see everything, or an empty string.
    """

    arm: str
    process: str
    round: int
    requests: int
    objects: int
    containers: int
    seconds: float
    walker: str
    partial: str = ""


@dataclass(frozen=True, slots=True)
class PatchRow:
    """One patch's status in one process."""

    arm: str
    process: str
    name: str
    status: str
    reason: str
    upstream: str = ""
    affected: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: a phase, a warning, an error."""

    arm: str
    elapsed: float
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Arm:
    """One soak of one engine configuration.

    Args:
        name: `unpatched`, `patched`, or `run` when there is one arm only.
        engine: Facts that the target reported when ready: `name`, `version`, `python`, `model`,
            `driver`, `block_size`, `num_blocks`, `needs_kv_cache_zeroing`, ...
        failure: Why the engine failed, or an empty string.
    """

    name: str
    engine: dict[str, Any] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    censuses: list[Census] = field(default_factory=list)
    populations: list[Population] = field(default_factory=list)
    patches: list[PatchRow] = field(default_factory=list)
    failure: str = ""
    points: list[Point] = field(default_factory=list)
    process_events: list[ProcessEvent] = field(default_factory=list)
    level_steps: list[LevelStep] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunData:
    """Everything that is known of one run.

    Args:
        status: `running` (also when the controller was killed), `finished`, `interrupted`
            or `failed`.
        live: Whether a controller holds the run folder, so that a `running` run is still at work.
    """

    plan: dict[str, Any]
    status: str
    started: str
    arms: list[Arm] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    live: bool = False
