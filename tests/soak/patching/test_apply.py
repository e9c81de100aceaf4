# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_soak.patching import apply, registry
from vllm_soak.patching.apply import apply_patch, apply_selected, undo
from vllm_soak.patching.status import Status

ALL = ("Engine.first", "Engine.second", "Engine.third", "Engine.inherited", "Engine.fixed", "alone")
Patches = Callable[..., Any]


def fail(*_arguments: object) -> Any:
    raise OSError("disk on fire")


def namespaces(engine: ModuleType) -> list[dict[str, Any]]:
    return [dict(vars(owner)) for owner in (engine, engine.Engine, engine.Base, engine.Compiled)]


def same_objects(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    pairs = zip(before, after, strict=True)
    return all(old.keys() == new.keys() and all(old[key] is new[key] for key in old) for old, new in pairs)


def test_applied(engine: ModuleType, make_patch: Patches) -> None:
    status = apply_patch(make_patch(*ALL), "1.0+local")
    assert (status.status, status.reason) == (Status.APPLIED, "verified on 1.0")
    one = engine.Engine()
    assert one.first(1) == (("first", 1), ("first", 1))
    assert one.inherited(2) == (("inherited", 2),) * 2
    assert engine.Base().inherited(2) == ("inherited", 2)
    assert engine.alone(3) == (("alone", 3),) * 2


@pytest.mark.parametrize(
    ("version", "expected", "reason"),
    [
        ("0.9", Status.NOT_NEEDED, "0.9 is outside of >=1.0,<2.0"),
        ("2.0", Status.NOT_NEEDED, "2.0 is outside of >=1.0,<2.0"),
        ("dev", Status.UNKNOWN_VERSION, "'dev' is not a PEP 440 version"),
        (None, Status.UNKNOWN_VERSION, "small_engine is not installed"),
    ],
)
def test_version_decides_before_the_engine_is_looked_at(
    make_patch: Patches, version: str | None, expected: Status, reason: str
) -> None:
    status = apply_patch(make_patch(targets=fail, already_fixed=fail), version)
    assert (status.status, status.reason) == (expected, reason)


def test_disabled_comes_first(make_patch: Patches) -> None:
    status = apply_patch(make_patch(targets=fail, affected="nonsense"), "1.0", disabled="asked for")
    assert (status.status, status.reason) == (Status.DISABLED, "asked for")


def test_release_in_range_that_nobody_verified(make_patch: Patches) -> None:
    status = apply_patch(make_patch("Engine.first"), "1.5.dev3+g12")
    assert status.status is Status.APPLIED
    assert status.reason == "1.5.dev3 is not verified, but its code equals that of 1.1"


@pytest.mark.parametrize(
    ("dotted", "fields", "reason"),
    [
        ("Engine.gone", {}, "Engine.gone does not resolve"),
        ("Engine.first", {"parameters": ("self", "y")}, "Engine.first has another signature"),
        ("Engine.first", {"fingerprints": {"1.0": "f" * 16}}, "Engine.first differs from that of 1.0"),
    ],
)
def test_drifted(
    engine: ModuleType, make_patch: Patches, make_target: Patches, dotted: str, fields: Any, reason: str
) -> None:
    before = namespaces(engine)
    status = apply_patch(make_patch("alone", make_target(dotted, **fields)), "1.0")
    assert status.status is Status.DRIFTED
    assert reason in status.reason
    assert same_objects(before, namespaces(engine))


def test_drifted_module_and_unreadable_source(make_patch: Patches, make_target: Patches) -> None:
    lost = dataclasses.replace(make_target("alone"), path="no_such_module:alone")
    assert "does not resolve" in apply_patch(make_patch(lost), "1.0").reason
    builtin = dataclasses.replace(make_target("alone"), path="math:sqrt")
    assert "cannot be read" in apply_patch(make_patch(builtin), "1.0").reason
    assert apply_patch(make_patch(), "1.0").reason == "no release is verified"


def test_target_of_other_releases_is_left_alone(engine: ModuleType, make_patch: Patches, make_target: Patches) -> None:
    later = make_target("Engine.gone", fingerprints={"1.1": "0" * 16})
    assert apply_patch(make_patch("Engine.first", later), "1.0").status is Status.APPLIED
    assert engine.Engine().first(1) == (("first", 1), ("first", 1))


def test_function_that_the_release_should_not_have(make_patch: Patches, make_target: Patches) -> None:
    newer = make_target("Engine.second", fingerprints={"1.1": "0" * 16})
    status = apply_patch(make_patch("Engine.first", newer), "1.0")
    assert status.status is Status.DRIFTED
    assert "Engine.second is not in 1.0" in status.reason


def test_already_fixed(engine: ModuleType, make_patch: Patches) -> None:
    before = namespaces(engine)
    status = apply_patch(make_patch("alone", already_fixed=lambda: True), "1.0")
    assert (status.status, status.reason) == (Status.NOT_NEEDED, "1.0 already has the upstream fix")
    assert same_objects(before, namespaces(engine))


@pytest.mark.parametrize("broken", [{"targets": fail}, {"already_fixed": fail}, {"affected": "nonsense"}])
def test_patch_that_is_broken_itself(make_patch: Patches, broken: dict[str, Any]) -> None:
    status = apply_patch(make_patch("alone", **broken), "1.0")
    assert status.status is Status.FAILED
    assert status.reason.endswith("; nothing was changed")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(order=st.permutations(ALL), place=st.integers(0, len(ALL)), settable=st.booleans())
def test_all_or_none(
    engine: ModuleType, make_patch: Patches, make_target: Patches, order: list[str], place: int, settable: bool
) -> None:
    broken = make_target("alone", build=fail) if settable else make_target("Compiled.method")
    before = namespaces(engine)
    status = apply_patch(make_patch(*order[:place], broken, *order[place:]), "1.0")
    assert status.status is Status.FAILED
    assert ("disk on fire" if settable else "cannot set 'method'") in status.reason
    assert same_objects(before, namespaces(engine))
    assert apply._applied == {}


def test_second_application_changes_nothing(engine: ModuleType, make_patch: Patches) -> None:
    patch = make_patch(*ALL)
    apply_patch(patch, "1.0")
    once = namespaces(engine)
    status = apply_patch(patch, "1.0", disabled="changed my mind")
    assert (status.status, status.reason) == (Status.APPLIED, "verified on 1.0")
    assert same_objects(once, namespaces(engine))


def test_second_copy_of_the_package_wraps_nothing_twice(engine: ModuleType, make_patch: Patches) -> None:
    patch = make_patch("Engine.first")
    apply_patch(patch, "1.0")
    once = namespaces(engine)
    apply._applied.clear()  # what a second copy starts with
    status = apply_patch(patch, "1.0")
    assert (status.status, status.reason) == (Status.APPLIED, "another copy of this package applied it")
    assert same_objects(once, namespaces(engine))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(order=st.permutations(ALL))
def test_undo_restores_the_very_objects(engine: ModuleType, make_patch: Patches, order: list[str]) -> None:
    before = namespaces(engine)
    patch = make_patch(*order)
    assert apply_patch(patch, "1.0").status is Status.APPLIED
    assert not same_objects(before, namespaces(engine))
    assert undo(patch) == []
    assert same_objects(before, namespaces(engine))


def test_undo_leaves_what_others_have_replaced(engine: ModuleType, make_patch: Patches) -> None:
    patch = make_patch("Engine.first", "Engine.third")
    apply_patch(patch, "1.0")
    theirs = engine.Engine.first = lambda _self, x: x
    assert "since wrapped by someone else" in apply_patch(patch, "1.0").reason
    assert undo(patch) == [f"{engine.__name__}:Engine.first"]
    assert engine.Engine.first is theirs
    assert engine.Engine().third() == "third"


def test_undo_of_what_was_never_applied(make_patch: Patches) -> None:
    assert undo(make_patch("alone")) == []


@pytest.fixture
def own_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="vllm.vllm_soak")
    return caplog


def test_one_log_line_a_process(engine: ModuleType, make_patch: Patches, own_log: Any) -> None:
    engine.__version__ = "1.0"  # type: ignore[attr-defined]
    patch = make_patch("alone")
    for _ in range(3):
        apply_selected({}, engine=engine.__name__, patches=[patch])
    apply_selected({}, engine=engine.__name__, patches=[patch], announce=False)
    assert [(record.levelname, record.getMessage()) for record in own_log.records] == [
        ("INFO", f"vllm-soak patches for {engine.__name__} 1.0: small applied (verified on 1.0)")
    ]


def test_unknown_name_is_said_and_others_apply(engine: ModuleType, make_patch: Patches, own_log: Any) -> None:
    engine.__version__ = "1.0"  # type: ignore[attr-defined]
    environ = {"VLLM_SOAK_PATCHES": "smal, small"}
    statuses = apply_selected(environ, engine=engine.__name__, patches=[make_patch("alone")])
    assert [status.status for status in statuses] == [Status.APPLIED]
    assert own_log.records[-1].levelname == "WARNING"
    assert own_log.records[-1].getMessage() == (
        "VLLM_SOAK_PATCHES names no such patch: smal; valid names are all, none, small."
    )


def test_status_that_needs_attention_is_a_warning(make_patch: Patches, own_log: Any) -> None:
    apply_selected({}, engine="no_such_engine", patches=[make_patch("alone")])
    assert [record.levelname for record in own_log.records] == ["WARNING"]


def test_never_raises(own_log: Any) -> None:
    assert apply_selected({}, patches=[object()]) == []  # type: ignore[list-item]
    assert "none was applied" in own_log.records[0].getMessage()


def test_known_patches_by_name_and_engine() -> None:
    assert registry.by_name("new-block-ids") in registry.known("vllm")
    assert registry.known("no_such_engine") == ()
