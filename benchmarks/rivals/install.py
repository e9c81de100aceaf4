# SPDX-License-Identifier: Apache-2.0
"""The tools, in a folder of their own below the cache: never in an engine's environment."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from vllm_soak.environments.cache import EngineEnvironment, cache_folder, locked
from vllm_soak.environments.pip_settings import read_pip_settings
from vllm_soak.environments.uv_tool import Say, UvError, UvTool
from vllm_soak.errors import EngineError

REQUIREMENTS = ("memray==1.20.0", "objgraph==3.7.0", "guppy3==3.1.7", "Pympler==1.1")


def tools_folder(environment: EngineEnvironment) -> Path:
    """Where the tools for an engine's Python are."""
    key = " ".join([str(environment.python), *REQUIREMENTS])
    return cache_folder() / "rivals" / hashlib.sha256(key.encode()).hexdigest()[:12]


def ensure_tools(environment: EngineEnvironment, say: Say) -> Path:
    """The folder with all tools, made when it is missing.

    Raises:
        EngineError: A tool could not be installed.
    """
    folder = tools_folder(environment)
    with locked(folder, say) as lock:
        if not folder.exists():
            say(f"installing {', '.join(REQUIREMENTS)} into {folder.name}")
            fill(folder, environment, UvTool(say, lock, folder.parent))
    return folder


def fill(folder: Path, environment: EngineEnvironment, uv: UvTool) -> None:
    """Install into a sibling folder and rename it.

    Raises:
        EngineError: A tool could not be installed.
    """
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    settings = read_pip_settings()
    command = ["pip", "install", "--python", str(environment.python), "--target", str(draft), *settings.arguments]
    try:
        uv.run(*command, *REQUIREMENTS, settings=settings)
        draft.rename(folder)
    except UvError as error:
        last = error.text.strip().splitlines()[-1:]
        raise EngineError(
            f"the tools to compare with could not be installed ({' '.join(last)})",
            "look at the package index that pip is configured with, and try again",
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
