# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from vllm_soak.patching import status
from vllm_soak.patching.status import Status
from vllm_soak.store.record import PatchRow


def test_names_are_those_of_the_design() -> None:
    names = {"applied", "not-needed", "unknown-version", "drifted", "disabled", "failed"}
    assert {member.value for member in Status} == names


def test_report_has_the_rows_of_the_store(make_patch: Callable[..., Any]) -> None:
    status.record(make_patch(), Status.DRIFTED, "first")
    status.record(make_patch(), Status.APPLIED, "why")
    (found,) = status.report("EngineCore")
    row = PatchRow(arm="run", **found)
    assert dataclasses.asdict(row) == {
        "arm": "run",
        "process": "EngineCore",
        "name": "small",
        "status": "applied",
        "reason": "why",
        "upstream": "PR 1",
        "affected": ">=1.0,<2.0",
    }


def test_process_has_a_name_by_default(make_patch: Callable[..., Any]) -> None:
    status.record(make_patch(), Status.DISABLED, "")
    assert status.report()[0]["process"] == "MainProcess"
