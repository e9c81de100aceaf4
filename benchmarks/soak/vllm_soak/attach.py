# SPDX-License-Identifier: Apache-2.0
"""`vllm-soak attach`: watch a server that somebody else runs and loads, by windows of time.

Nothing is put into the server. What it keeps of finished requests is judged over the requests that it says it has
finished; where the probe is armed in it, also container by container.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from vllm_soak.engines.attached import attach_to
from vllm_soak.errors import EngineError
from vllm_soak.report.live import LiveView
from vllm_soak.soak import Finished, make_run_folder, report, still_there
from vllm_soak.store.writer import RunStore
from vllm_soak.watcher import ARM, Watcher
from vllm_soak.windows import Windows


def attach(windows: Windows, result_dir: Path, run_dir: Path | None, console: Console) -> Finished:
    """Watch a server and report.

    Raises:
        UsageError: The server cannot be found, or a value is out of range.
        StoreError: The run folder cannot be written.
    """
    windows.check()
    server = attach_to(windows.url, windows.pid)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = make_run_folder(run_dir, result_dir / f"{stamp}-attach-{server.health.port}")
    plan = {"driver": "attach", **asdict(windows), "result_dir": str(result_dir)}
    with LiveView(console) as progress, RunStore.create(folder, plan) as store, still_there(store.file):
        store.set_status(watch(Watcher(server, windows, store, folder, progress)))
    with still_there(store.file):
        return report(folder, console)


def watch(watcher: Watcher) -> str:
    """Watch to the end; return how it ended: `finished`, `interrupted` or `failed`."""
    try:
        watcher.run()
    except KeyboardInterrupt:
        watcher.store.add_event("", "warning", "interrupted by the user")
        return "interrupted"
    except EngineError as failure:
        watcher.store.fail_arm(ARM, str(failure))
        watcher.progress.note(str(failure))
        return "failed"
    finally:
        watcher.observation.stop()
    return "finished"
