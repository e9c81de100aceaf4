# SPDX-License-Identifier: Apache-2.0
"""Keep this package in an environment equal to the one that runs here."""

from __future__ import annotations

import shutil
from pathlib import Path

from vllm_soak.environments.builder import PARTIAL, python_in, sibling
from vllm_soak.environments.bundle import build_wheel
from vllm_soak.environments.environment_record import read_record
from vllm_soak.environments.package_content import DISTRIBUTION, content_hash
from vllm_soak.environments.uv_tool import UvTool


def refresh_package(folder: Path, uv: UvTool) -> bool:
    """Install this package where the environment holds another content of it, or none.

    The caller holds the environment's lock. While the files change, the record claims no content,
    so an attempt that is cut short is made again.

    Returns:
        Whether it was installed.

    Raises:
        UvError: uv could not install it.
    """
    record, content = read_record(folder), content_hash()
    assert record is not None, "only an environment that is whole is refreshed"
    if record.package == content:
        return False
    uv.say(f"installing {DISTRIBUTION} into {folder.name}")
    record.with_package("").write(folder)
    wheels = sibling(folder, PARTIAL)
    try:
        uv.install_wheel(python_in(folder), build_wheel(wheels), DISTRIBUTION)
    finally:
        shutil.rmtree(wheels, ignore_errors=True)
    record.with_package(content).write(folder)
    return True
