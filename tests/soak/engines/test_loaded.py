# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from vllm_soak.engines.loaded import limited_by_client, remarks, too_many_failed

WHOLE: dict[str, Any] = {"requests": 1000, "failed": 0, "errors": {}, "delayed": 0}


def test_a_whole_block_needs_no_remark() -> None:
    assert remarks(WHOLE) == []
    assert too_many_failed(WHOLE) is None


def test_hosts_say_nothing_of_failures() -> None:
    assert remarks({"requests": 600, "seconds": 1.0}) == []
    assert too_many_failed({"requests": 600}) is None


@pytest.mark.parametrize(("failed", "refused"), [(20, False), (21, True)])
def test_a_few_failures_are_said_and_many_refused(failed: int, refused: bool) -> None:
    done = {**WHOLE, "failed": failed, "errors": {"reset": failed - 5, "http-500": 5}}
    assert remarks(done) == [f"{failed} of 1000 requests failed (5 http-500, {failed - 5} reset)"]
    assert (too_many_failed(done) is not None) is refused


def test_a_rate_that_was_not_kept_is_said() -> None:
    (text,) = remarks({**WHOLE, "delayed": 12, "longest_delay": 1.26})
    assert "12 arrivals waited" in text
    assert "1.3 s at most" in text


def blocks(*pairs: tuple[float, float]) -> list[dict[str, Any]]:
    """Blocks by cores of the load process and seconds."""
    return [{**WHOLE, "client": {"cpu": cpu}, "seconds": seconds} for cpu, seconds in pairs]


def test_the_client_is_the_bottleneck_when_its_core_was_busy_over_the_round() -> None:
    assert limited_by_client(blocks((0.97, 9.0), (0.88, 1.0))).startswith(
        "the load was the bottleneck: its process used 0.96"
    )
    assert limited_by_client(blocks((0.97, 1.0), (0.6, 9.0))) == ""
    assert limited_by_client([{"requests": 600, "seconds": 1.0}]) == "", "a host has no client"
    assert limited_by_client([]) == ""
