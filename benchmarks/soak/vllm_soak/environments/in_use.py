# SPDX-License-Identifier: Apache-2.0
"""Whether a process runs from an environment: it would lose the modules that it has not imported yet."""

from __future__ import annotations

from pathlib import Path

import psutil

from vllm_soak.errors import UsageError


def users_of(folder: Path) -> list[int]:
    """Ids of the processes whose interpreter was started from `folder`.

    The command line tells: an environment's Python is a link, and /proc shows where it leads.
    """
    inside = f"{folder}/"
    found = psutil.process_iter(["cmdline"])
    return [one.pid for one in found if (one.info["cmdline"] or [""])[0].startswith(inside)]


def refuse_in_use(folder: Path) -> None:
    """Raise when a process runs from `folder`.

    Raises:
        UsageError: It does; the error names one of them.
    """
    if users := users_of(folder):
        more = f" and {len(users) - 1} more" if len(users) > 1 else ""
        raise UsageError(
            f"the environment {folder.name} is in use by process {users[0]}{more}",
            "wait for that run to end, or stop it, and remove the environment then",
        )
