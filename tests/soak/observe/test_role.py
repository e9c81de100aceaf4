# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest

from vllm_soak.observe.role import is_engine, role_of, role_of_command


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("VLLM::EngineCore", "EngineCore"),
        ("VLLM::EngineCore_DP1", "EngineCore_DP1"),
        ("VLLM::Worker_TP0", "Worker_TP0"),
        ("VLLM::Worker", "Worker"),
        ("VLLM::APIServer_2", "APIServer_2"),
        ("/venv/bin/python -m vllm.entrypoints.openai.api_server --model m", "APIServer"),
        ("/venv/bin/python /venv/bin/vllm serve m --port 1", "APIServer"),
        ("python -m vllm_mlx.server", "APIServer"),
        ("python -m vllm_soak.engines.mlx.server serve m", "APIServer"),
        ("python -m vllm_soak.patched -- rapid-mlx serve m", "APIServer"),
        ("vllm serve m", "APIServer"),
        ("timeout 60 vllm serve m", "timeout"),
        ("uv run python -m vllm_mlx.server", "vllm_mlx.server"),
        ("python -m vllm_soak.engines.serve.guardian 5 vllm serve m", "vllm_soak.engines.serve.guardian"),
        ("python -c from multiprocessing.resource_tracker import main;main(5)", "resource-tracker"),
        ("python -c from multiprocessing.spawn import spawn_main; spawn_main(pipe_handle=7)", "spawned"),
        ("python3.11 benchmarks/serve.py serve", "serve.py"),
        ("python -m http.server 80", "http.server"),
        ("/usr/bin/g++ -O2 x.c", "g++"),
        ("python", "python"),
        ("python -m", "python"),
    ],
)
def test_a_command_line_shows_the_role(line: str, role: str) -> None:
    words = line.split(" ", 2) if " -c " in f" {line} " else line.split(" ")
    assert role_of_command(words) == role


def test_the_engine_s_own_are_told_from_helpers() -> None:
    assert all(map(is_engine, ("APIServer", "APIServer_1", "EngineCore", "EngineCore_DP0", "Worker", "Worker_TP1")))
    assert not any(map(is_engine, ("resource-tracker", "python", "g++", "", "spawned")))


def test_a_process_that_is_gone_has_no_role() -> None:
    assert role_of(2**22 + 1) == ""


def test_of_a_real_process() -> None:
    assert role_of(os.getpid()) != ""
