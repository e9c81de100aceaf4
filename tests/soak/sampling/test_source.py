# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from vllm_soak.sampling import source
from vllm_soak.sampling.device import device


def test_what_a_driver_tells_is_in_the_samples_until_another_one_takes_its_place(monkeypatch) -> None:
    monkeypatch.setattr(source, "_sources", [])
    source.register(lambda: {"entries": 3.0})
    assert device()["entries"] == 3.0
    source.register(lambda: {"others": 4.0})
    assert "entries" not in device()
    assert device()["others"] == 4.0
