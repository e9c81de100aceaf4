# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import subprocess
import sys
import textwrap
from pathlib import Path

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
    """In a process of its own, where no test runner does anything meanwhile."""
    program = """
        import vllm_soak
        from rich.console import Console
        from vllm_soak.locate.attach import show
        from vllm_soak.locate.observer import Located

        growth = vllm_soak.growth().run(lambda: None, rounds=3)
        show(Located(growth.verdict, growth.suspects), Console(width=300))
    """
    line = [sys.executable, "-c", textwrap.dedent(program)]
    paths = {"PYTHONPATH": str(Path(vllm_soak.__file__).parents[1])}
    done = subprocess.run(line, env=paths, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("\nNO-LEAK  no container kept growing over 3 rounds")
