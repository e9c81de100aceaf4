# SPDX-License-Identifier: Apache-2.0
"""Memory, processor time and pressure of the control group that a process is in.

Version 2 (one hierarchy), and of version 1 what bounds memory: its limit and use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from vllm_soak.observe.proc_stat import read_text

# Beyond this a version 1 limit is none: the kernel writes the greatest whole number of pages.
NO_LIMIT = 1 << 60
SINGLE_V2 = {
    "memory.current": "cgroup_current",
    "memory.max": "cgroup_max",
    "memory.high": "cgroup_high",
    "memory.swap.current": "cgroup_swap",
}
SINGLE_V1 = {"memory.usage_in_bytes": "cgroup_current", "memory.limit_in_bytes": "cgroup_max"}
# Keys of memory.stat in version 2 and version 1.
STAT_V2 = {key: f"cgroup_{key}" for key in ("anon", "file", "shmem", "kernel", "inactive_file", "slab_reclaimable")}
STAT_V1 = {"total_rss": "cgroup_anon", "total_cache": "cgroup_file", "total_inactive_file": "cgroup_inactive_file"}
EVENTS = {"high": "cgroup_events_high", "max": "cgroup_events_max", "oom_kill": "cgroup_oom_kills"}
CPU = {"nr_throttled": "cgroup_throttled", "throttled_usec": "cgroup_throttled_us"}
PRESSURE = re.compile(r"^(some|full) .*total=(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The folders of a process's control group.

    Args:
        unified: Its folder of version 2, or None.
        memory: Its folder of version 1's memory controller, or None.
    """

    unified: Path | None
    memory: Path | None

    def read(self) -> dict[str, float]:
        """Return values named `cgroup_...` in bytes or counts, and `..._pressure_some` and `_full` in seconds of stall.

        What a kernel or a group does not have is absent; a limit that is not set is absent too.
        """
        values = {} if self.memory is None else {**single(self.memory, SINGLE_V1), **table(self.memory, STAT_V1)}
        if self.unified is not None:
            values |= {**single(self.unified, SINGLE_V2), **table(self.unified, STAT_V2)}
            values |= table(self.unified, EVENTS, "memory.events") | table(self.unified, CPU, "cpu.stat")
            for kind in ("cpu", "memory", "io"):
                values |= pressure(self.unified / f"{kind}.pressure", f"cgroup_{kind}")
        return values


def control_group_of(pid: int) -> ControlGroup:
    """Return the control group that a process is in now."""
    lines = [line.split(":", 2) for line in read_text(f"/proc/{pid}/cgroup").splitlines()]
    paths = {controllers: path for _, controllers, path in (line for line in lines if len(line) == 3)}
    mounts = hierarchies()
    memory = next((path for names, path in paths.items() if "memory" in names.split(",")), None)
    return ControlGroup(folder(mounts.get("cgroup2"), paths.get("")), folder(mounts.get("memory"), memory))


def hierarchies() -> dict[str, tuple[Path, str]]:
    """Return mount point and root of version 2 (`cgroup2`) and of version 1's memory controller (`memory`)."""
    found = {}
    for line in read_text("/proc/self/mountinfo").splitlines():
        place, _, kind = line.partition(" - ")
        root, point = place.split()[3:5]
        filesystem, _, options = kind.split(maxsplit=2)
        if filesystem == "cgroup2":
            found["cgroup2"] = (Path(point), root)
        elif filesystem == "cgroup" and "memory" in options.split(","):
            found["memory"] = (Path(point), root)
    return found


def folder(mount: tuple[Path, str] | None, path: str | None) -> Path | None:
    """Return the folder of a group below its hierarchy's mount; in a container that sees less, the mount itself."""
    if mount is None or path is None:
        return None
    point, root = mount
    inside = path.removeprefix(root) if root != "/" and path.startswith(root) else path
    wanted = point / inside.strip("/")
    return wanted if ".." not in wanted.parts and wanted.is_dir() else point


def single(place: Path, names: dict[str, str]) -> dict[str, float]:
    """Return files that hold one number; `max`, and version 1's way of saying so, is no number."""
    texts = {name: read_text(place / file).strip() for file, name in names.items()}
    return {name: float(text) for name, text in texts.items() if text.isdigit() and int(text) < NO_LIMIT}


def table(place: Path, names: dict[str, str], file: str = "memory.stat") -> dict[str, float]:
    """Return lines `name number` of a file under the names wanted."""
    lines = [line.split() for line in read_text(place / file).splitlines()]
    return {names[line[0]]: float(line[1]) for line in lines if len(line) == 2 and line[0] in names}


def pressure(file: Path, name: str) -> dict[str, float]:
    """Return seconds in which some, or all, tasks were held up by a lack of a resource, since the start."""
    return {f"{name}_pressure_{who}": int(total) / 1e6 for who, total in PRESSURE.findall(read_text(file))}
