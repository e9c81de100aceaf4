# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from vllm_soak.engines.loaded import remarks, too_many_failed

WHOLE: dict[str, Any] = {"requests": 1000, "failed": 0, "errors": {}, "client": {"bottleneck": None}, "delayed": 0}


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


def test_a_slow_load_and_a_rate_that_was_not_kept_are_said() -> None:
    done = {**WHOLE, "client": {"bottleneck": "it used 0.97 of its core"}, "delayed": 12, "longest_delay": 1.26}
    first, second = remarks(done)
    assert first == "the load was the bottleneck: it used 0.97 of its core"
    assert "12 arrivals waited" in second
    assert "1.3 s at most" in second
