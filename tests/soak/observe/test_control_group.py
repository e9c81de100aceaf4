# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

from vllm_soak.observe.control_group import ControlGroup, control_group_of, folder, pressure
from vllm_soak.observe.host import read_host, shared_memory

PRESSURE = (
    "some avg10=0.00 avg60=0.12 avg300=0.05 total=8471837\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2629922\n"
)


def write(place: Path, **files: str) -> Path:
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text)
    return place


def test_version_2(tmp_path: Path) -> None:
    place = write(
        tmp_path / "v2",
        memory__current="2097152\n",
        memory__max="8388608\n",
        memory__high="max\n",
        memory__stat="anon 1048576\nfile 4096\nkernel 512\ninactive_file 1024\nsomething_else 5\n",
        memory__events="low 0\nhigh 3\nmax 1\noom 0\noom_kill 2\n",
        memory__pressure=PRESSURE,
        cpu__stat="usage_usec 5\nnr_throttled 7\nthrottled_usec 900\n",
    )
    assert ControlGroup(place, None).read() == {
        "cgroup_current": 2097152.0, "cgroup_max": 8388608.0, "cgroup_anon": 1048576.0, "cgroup_file": 4096.0,
        "cgroup_kernel": 512.0, "cgroup_inactive_file": 1024.0, "cgroup_events_high": 3.0, "cgroup_events_max": 1.0,
        "cgroup_oom_kills": 2.0, "cgroup_throttled": 7.0, "cgroup_throttled_us": 900.0,
        "cgroup_memory_pressure_some": 8.471837, "cgroup_memory_pressure_full": 2.629922,
    }  # fmt: skip


def test_version_1_without_a_limit(tmp_path: Path) -> None:
    place = write(
        tmp_path / "v1",
        memory__usage_in_bytes="4096\n",
        memory__limit_in_bytes="9223372036854771712\n",
        memory__stat="cache 1\ntotal_cache 300\ntotal_rss 200\ntotal_inactive_file 100\n",
    )
    assert ControlGroup(None, place).read() == {
        "cgroup_current": 4096.0, "cgroup_file": 300.0, "cgroup_anon": 200.0, "cgroup_inactive_file": 100.0,
    }  # fmt: skip


def test_a_group_below_what_a_container_sees_is_the_mount(tmp_path: Path) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert folder((tmp_path, "/"), "/a/b") == inside
    assert folder((tmp_path, "/docker/x"), "/docker/x/a/b") == inside
    assert folder((tmp_path, "/"), "/../../other") == tmp_path
    assert folder((tmp_path, "/"), "/gone") == tmp_path
    assert folder(None, "/a") is None
    assert folder((tmp_path, "/"), None) is None


def test_of_this_machine() -> None:
    group = control_group_of(os.getpid())
    places = [place for place in (group.unified, group.memory) if place is not None]
    assert all(place.is_dir() for place in places)
    values = group.read()
    assert all(value >= 0 for value in values.values())
    if group.memory is not None or (group.unified is not None and (group.unified / "memory.current").exists()):
        assert values["cgroup_current"] > 0


def test_a_group_that_is_gone_has_no_values(tmp_path: Path) -> None:
    assert ControlGroup(tmp_path / "gone", tmp_path / "gone").read() == {}
    assert pressure(tmp_path / "gone", "x") == {}


def test_the_machine() -> None:
    values = read_host()
    assert 0 < values["mem_available"] <= values["mem_total"]
    assert {"swap_total", "swap_free", "shmem"} <= values.keys()


def growth_of_shared_memory() -> float:
    """Bytes more in use after eight MiB were put there."""
    before = shared_memory(os.getpid())
    file = Path("/dev/shm") / f"vllm-soak-test-{os.getpid()}"
    try:
        file.write_bytes(bytes(8 << 20))
        return shared_memory(os.getpid())["dev_shm"] - before["dev_shm"]
    finally:
        file.unlink()


def test_shared_memory_in_use_grows_by_what_is_put_there() -> None:
    # Other programs may take theirs away at that moment, but not every time.
    assert max(growth_of_shared_memory() for _ in range(20)) >= 4 << 20
