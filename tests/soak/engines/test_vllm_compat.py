# SPDX-License-Identifier: Apache-2.0
"""What needs no engine; the rest of the module is what test_core and test_inproc run on."""

from __future__ import annotations

import sys

import pytest

from vllm_soak.engines.vllm_compat import accepted, imported, python_version, shell_class


def takes(first: int, *, second: int = 0) -> tuple[int, int]:
    return first, second


def test_only_known_arguments_are_passed() -> None:
    assert accepted(takes, {"first": 1, "second": 2, "third": 3}) == {"first": 1, "second": 2}


def test_a_name_is_found_by_module() -> None:
    assert imported("os.path", "join") is sys.modules["os.path"].join


def test_a_shell_is_never_run() -> None:
    shell = shell_class("SomeForCausalLM", object)
    assert shell.__name__ == "SomeForCausalLM"
    with pytest.raises(NotImplementedError):
        shell(vllm_config=None)


def test_the_python_version_has_three_parts() -> None:
    assert python_version().split(".") == [str(part) for part in sys.version_info[:3]]
