# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_soak.environments.cache import EngineEnvironment
from vllm_soak.environments.choose import choose
from vllm_soak.environments.releases import Release, newest_tested
from vllm_soak.errors import UsageError


def test_both_flags_are_refused() -> None:
    with pytest.raises(UsageError, match="--engine and --python exclude each other"):
        choose(engine="vllm-cpu", python=sys.executable)


@pytest.mark.parametrize(
    ("driver", "engine", "flavour"),
    [("core", "vllm-cpu", "scheduler"), ("inproc", "vllm-cpu", "full"), ("core", "vllm", "full")],
)
def test_the_core_driver_takes_the_small_environment(driver: str, engine: str, flavour: str) -> None:
    choice = choose(engine=f"{engine}==0.25.1", driver=driver)
    assert choice.release == Release(engine, "0.25.1")
    assert choice.flavour == flavour
    assert choice.interpreter is None
    assert choice.reason == f"using {engine}==0.25.1 in an environment of its own, as --engine says"


def test_without_an_engine_here_the_newest_tested_release_is_made() -> None:
    choice = choose()
    assert choice.release == newest_tested()
    assert choice.interpreter is None
    assert "newest release that this project is tested with" in choice.reason


def test_an_untested_release_is_taken_and_called_so() -> None:
    assert choose(engine="vllm==0.33.0").reason.endswith("as --engine says (not tested with this project)")


def test_python_without_an_engine_is_refused() -> None:
    with pytest.raises(UsageError, match="has no engine installed"):
        choose(python=sys.executable)


@pytest.mark.engine
def test_python_wins(scheduler_environment: EngineEnvironment) -> None:
    choice = choose(python=scheduler_environment.python, driver="core")
    assert choice.interpreter is not None
    assert choice.interpreter.path == scheduler_environment.python
    assert choice.reason == f"using {newest_tested()} of {scheduler_environment.python}, as --python says"


@pytest.mark.engine
def test_the_engine_of_the_running_python_comes_first(
    scheduler_environment: EngineEnvironment, child_variables: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    program = "from vllm_soak.environments.choose import choose; print(choose().reason)"
    command = [str(scheduler_environment.python), "-c", program]
    said = subprocess.run(
        command, env=child_variables(), cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert said == (
        f"using {newest_tested()} of {scheduler_environment.python}, "
        "because it is installed in the Python that runs vllm-soak\n"
    )
