# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import pytest

from vllm_soak.zeroing import native
from vllm_soak.zeroing.support import why_not


def device(kind):
    """As much of a torch device as is looked at; torch itself is not here."""
    return SimpleNamespace(type=kind, index=0)


@pytest.mark.usefixtures("cpu_library")
def test_the_cpu_can_always_be_used_where_the_library_is():
    assert why_not(device("cpu")) == ""


def test_a_missing_library_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    native.load.cache_clear()
    assert "is not part of this installation" in why_not(device("cpu"))
    native.load.cache_clear()


def test_other_devices_have_no_code():
    assert why_not(device("xpu")) == "there is no code for xpu devices"
