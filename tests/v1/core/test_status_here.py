# SPDX-License-Identifier: Apache-2.0
"""Each status on the real engine, and that a patch which is not applied leaves no trace in it."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from vllm_soak.engines.vllm_compat import imported
from vllm_soak.patching.apply import apply_patch, undo
from vllm_soak.patching.patch import Patch
from vllm_soak.patching.registry import NEW_BLOCK_IDS
from vllm_soak.patching.status import PatchStatus, Status

ALWAYS = dataclasses.replace(NEW_BLOCK_IDS, affected=">=0")


def namespaces() -> list[dict[str, Any]]:
    """What the classes that the patch touches hold, the very objects."""
    return [
        dict(vars(imported("vllm.v1.core.sched.scheduler", "Scheduler"))),
        dict(vars(imported("vllm.v1.core.single_type_kv_cache_manager", "SingleTypeKVCacheManager"))),
    ]


def is_untouched(before: list[dict[str, Any]]) -> bool:
    return all(
        list(old) == list(new) and all(old[name] is new[name] for name in old)
        for old, new in zip(before, namespaces(), strict=True)
    )


def test_status_on_this_release(version: str, is_affected: bool) -> None:
    before = namespaces()
    status = apply_patch(NEW_BLOCK_IDS, version)
    assert status.status is (Status.APPLIED if is_affected else Status.NOT_NEEDED)
    assert status.reason.startswith("verified on" if is_affected else f"{version} is outside of")
    assert is_untouched(before) is not is_affected


def test_undo_leaves_no_trace(version: str) -> None:
    before = namespaces()
    apply_patch(NEW_BLOCK_IDS, version)
    assert undo(NEW_BLOCK_IDS) == []
    assert is_untouched(before)


@pytest.mark.usefixtures("affected")
def test_second_application_wraps_nothing_twice(version: str) -> None:
    apply_patch(NEW_BLOCK_IDS, version)
    once = namespaces()
    assert apply_patch(NEW_BLOCK_IDS, version).status is Status.APPLIED
    assert is_untouched(once)


def with_broken_target(place: int) -> Patch:
    """The patch with one target that cannot be built."""
    targets = list(NEW_BLOCK_IDS.targets())
    targets[place] = dataclasses.replace(targets[place], build=lambda _function: 1 / 0)
    return dataclasses.replace(NEW_BLOCK_IDS, targets=lambda: tuple(targets))


class Stubborn(type):
    """A class whose attributes cannot be set, as those of a compiled one."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise TypeError(f"cannot set {name!r}")


class Compiled(metaclass=Stubborn):
    def method(self) -> None: ...


def with_unsettable_target(version: str) -> Patch:
    """The patch with one target more, at the end, that fails when all others are swapped."""
    from vllm_soak.patching.fingerprint import fingerprint

    owner = imported("vllm.v1.core.sched.scheduler", "Scheduler")
    module = sys.modules[owner.__module__]
    module.__dict__["_Compiled"] = Compiled
    last = dataclasses.replace(
        NEW_BLOCK_IDS.targets()[0],
        path=f"{owner.__module__}:_Compiled.method",
        parameters=("self",),
        build=functools.partial,
        fingerprints={version: fingerprint(Compiled.method)},
    )
    return dataclasses.replace(NEW_BLOCK_IDS, targets=lambda: (*NEW_BLOCK_IDS.targets(), last))


def assert_failed(status: PatchStatus, before: list[dict[str, Any]], why: str) -> None:
    assert status.status is Status.FAILED
    assert why in status.reason
    assert is_untouched(before)


@pytest.mark.usefixtures("affected")
@pytest.mark.parametrize("place", range(len(NEW_BLOCK_IDS.targets())))
def test_replacement_that_cannot_be_built(version: str, place: int) -> None:
    patch = with_broken_target(place)
    in_use = version in patch.targets()[place].fingerprints
    before = namespaces()
    status = apply_patch(patch, version)
    if in_use:
        assert_failed(status, before, "ZeroDivisionError")
    else:  # that function is not of this release
        assert status.status is Status.APPLIED


@pytest.mark.usefixtures("affected")
def test_failure_after_all_others_were_swapped(version: str) -> None:
    patch = with_unsettable_target(version)
    before = namespaces()
    assert_failed(apply_patch(patch, version), before, "cannot set 'method'")


@pytest.mark.usefixtures("affected")
def test_drifted_source(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = imported("vllm.v1.core.sched.scheduler", "Scheduler")

    def schedule(self: Any) -> Any:
        raise NotImplementedError

    monkeypatch.setattr(owner, "schedule", schedule)
    before = namespaces()
    status = apply_patch(NEW_BLOCK_IDS, version)
    assert status.status is Status.DRIFTED
    assert "the source of vllm.v1.core.sched.scheduler:Scheduler.schedule differs" in status.reason
    assert is_untouched(before)


@pytest.mark.usefixtures("affected")
def test_code_that_the_release_shares_with_a_verified_one(version: str) -> None:
    status = apply_patch(ALWAYS, f"{version}.post9+local")
    assert status.status is Status.APPLIED
    assert f"{version}.post9 is not verified, but its code equals that of" in status.reason


def test_healthy_release_is_not_touched_even_when_the_range_is_wrong(version: str, is_affected: bool) -> None:
    if is_affected:
        pytest.skip("this release has the defect")
    before = namespaces()
    assert apply_patch(ALWAYS, version).status is Status.DRIFTED
    assert ALWAYS.already_fixed() is (version != "0.17.0")  # which precedes the defect
    assert is_untouched(before)


@pytest.mark.parametrize("text", ["dev", "", "0.25.x"])
def test_version_that_is_no_version(text: str) -> None:
    assert apply_patch(NEW_BLOCK_IDS, text).status is Status.UNKNOWN_VERSION


DECIDE = """
import json, sys
from vllm_soak.patching.apply import apply_selected
statuses = apply_selected({}, announce=False)
print(json.dumps([statuses[0].status.value, [name for name in sys.modules if name.split(".")[0] == "vllm"]]))
"""


def test_release_that_is_not_affected_costs_no_import_of_the_engine(is_affected: bool) -> None:
    if is_affected:
        pytest.skip("an affected release has to be imported to be patched")
    done = subprocess.run([sys.executable, "-c", DECIDE], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == ["not-needed", []]


def test_query_in_an_environment_with_another_torch(is_affected: bool) -> None:
    """The torch here need not be the one that the release wants; 0.17.1 does not import without a mend."""
    command = [sys.executable, "-m", "vllm_soak.patching", "--json", "--scheduler-only"]
    # An allow-list without us, which this suite sets, would be the answer for every patch.
    environment = {name: value for name, value in os.environ.items() if name != "VLLM_PLUGINS"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    rows = {row["name"]: row["status"] for row in json.loads(done.stdout)}
    assert rows["new-block-ids"] == ("applied" if is_affected else "not-needed")


def test_an_allow_list_without_us_is_said_for_every_patch(is_affected: bool) -> None:
    command = [sys.executable, "-m", "vllm_soak.patching", "--json", "--scheduler-only"]
    environment = {**os.environ, "VLLM_PLUGINS": "somebody_elses"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    rows = json.loads(done.stdout)
    assert {row["status"] for row in rows} == {"disabled"}, is_affected
    assert all("does not list vllm_soak" in row["reason"] for row in rows)
