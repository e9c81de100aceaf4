# SPDX-License-Identifier: Apache-2.0
"""Windows of time that somebody else loads a server in."""

from __future__ import annotations

import pytest

from vllm_soak.errors import UsageError
from vllm_soak.windows import Windows


def test_a_time_that_was_given_is_waited_out_though_nobody_sends_requests() -> None:
    assert Windows("http://127.0.0.1:8000").patience == 10
    assert Windows("http://127.0.0.1:8000", duration="12h").patience == float("inf")


@pytest.mark.parametrize(
    "wrong", [{"interval": 0.9}, {"interval": float("nan")}, {"interval": float("inf")}, {"max_pause_ms": 0.01}]
)
def test_windows_that_would_never_end_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="use"):
        Windows("http://127.0.0.1:8000", **wrong).check()
