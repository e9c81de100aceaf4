# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from vllm_soak.observe.log_tail import TAIL_BYTES, tail


@pytest.mark.parametrize("lines", [0, 1, 14, 15, 200])
def test_tail_is_the_last_lines(tmp_path: Path, lines: int) -> None:
    log = tmp_path / "log"
    text = [f"line {number}" for number in range(lines)]
    log.write_text("".join(line + "\n" for line in text))
    assert tail(log, 15) == text[-15:]


def test_tail_reads_the_end_only_and_forgives(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff" * (3 * TAIL_BYTES) + b"\nend")
    assert tail(log, 1) == ["end"]
    assert tail(tmp_path / "absent", 15) == []
