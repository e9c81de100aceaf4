# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.engines.silence import Patience, Silence, Stalled


def test_notes_become_rarer_and_the_limit_ends_it() -> None:
    notes: list[float] = []
    silence = Silence(limit=900.0, note=60.0, on_silence=notes.append)
    for _ in range(899):
        silence.waited(1.0)
    assert notes == [60.0, 120.0, 240.0, 480.0]
    with pytest.raises(Stalled, match="900 s"):
        silence.waited(1.0)


def test_a_message_begins_anew() -> None:
    notes: list[float] = []
    silence = Silence(limit=10.0, note=4.0, on_silence=notes.append)
    for _ in range(3):
        for _ in range(5):
            silence.waited(1.0)
        silence.heard()
    assert notes == [4.0, 4.0, 4.0]
    assert silence.seconds == 0.0


def test_nobody_need_listen() -> None:
    silence = Silence(limit=3.0, note=1.0)
    silence.waited(2.0)
    with pytest.raises(Stalled):
        silence.waited(1.0)


def test_a_start_may_be_silent_for_longer_than_a_load() -> None:
    patience = Patience()
    assert patience.limit("start") > patience.limit("load") > patience.limit("stop")
    assert patience.limit("anything") == patience.limit("load")
