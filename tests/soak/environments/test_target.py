# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from vllm_soak.environments.cache import EngineEnvironment
from vllm_soak.environments.choose import choose
from vllm_soak.environments.package_content import package_folder
from vllm_soak.environments.releases import newest_tested
from vllm_soak.environments.target import Target, prepare

LOOK = """
import json, vllm_soak
from importlib.metadata import entry_points
points = entry_points(group="vllm.general_plugins")
found = [(point.name, point.value) for point in points if point.dist.name == "vllm-soak"]
print(json.dumps({"found": found, "file": vllm_soak.__file__}))
"""


def look(target: Target, folder: Path) -> dict[str, object]:
    """What the target's Python knows of this package when started as the engine would be."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(target.python), "-c", LOOK]
    environment = {**variables, **target.variables}
    done = subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, text=True)
    facts: dict[str, object] = json.loads(done.stdout)
    return facts


@pytest.mark.engine
def test_a_made_environment_has_the_plugin_inside(scheduler_environment: EngineEnvironment, tmp_path: Path) -> None:
    target = prepare(choose(engine=str(newest_tested()), driver="core"), tmp_path / "overlay")
    assert target.python == scheduler_environment.python
    assert target.lock == scheduler_environment.lock
    assert target.variables == {}
    facts = look(target, tmp_path)
    assert facts["found"] == [["vllm_soak", "vllm_soak.probe.plugin:load"]]
    assert Path(str(facts["file"])).is_relative_to(scheduler_environment.folder)
    assert not (tmp_path / "overlay").exists()


@pytest.mark.engine
def test_a_borrowed_python_sees_the_plugin_once_and_stays_untouched(
    scheduler_environment: EngineEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/some/where")
    before = sorted(path.name for path in site_packages(scheduler_environment).iterdir())
    target = prepare(choose(python=scheduler_environment.python), tmp_path / "overlay")
    assert target.variables["PYTHONPATH"] == f"{tmp_path / 'overlay'}{os.pathsep}/some/where"
    facts = look(target, tmp_path)
    assert facts["found"] == [["vllm_soak", "vllm_soak.probe.plugin:load"]]
    assert Path(str(facts["file"])).parent == tmp_path / "overlay" / "vllm_soak"
    assert Path(str(facts["file"])).resolve().parent == package_folder()
    assert sorted(path.name for path in site_packages(scheduler_environment).iterdir()) == before


def site_packages(environment: EngineEnvironment) -> Path:
    """The folder that an environment's packages are in."""
    return next(environment.folder.glob("lib/python*/site-packages"))
