# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io

from rich.console import Console

import vllm_soak
from vllm_soak.locate.attach import show
from vllm_soak.locate.growth import Growth
from vllm_soak.locate.observer import Located


class Service:
    def __init__(self) -> None:
        self.kept: list[object] = []


def shown(growth: Growth) -> list[str]:
    console = Console(file=io.StringIO(), width=300)
    show(Located(growth.verdict, growth.suspects), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_reason_below_a_ladder_is_not_said_again() -> None:
    service = Service()
    lines = shown(vllm_soak.growth().run(lambda: service.kept.append(object())))
    assert lines[-1] == "LEAK  service.kept"
    assert sum("grew in each of 5 rounds" in line for line in lines) == 1


def test_without_a_ladder_the_reason_is_the_answer() -> None:
    lines = shown(vllm_soak.growth().run(lambda: None, rounds=3))
    assert lines[-1].startswith("NO-LEAK  no container kept growing over 3 rounds")
