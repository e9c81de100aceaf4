# SPDX-License-Identifier: Apache-2.0
"""The target's main loop: builds one engine in this process and obeys the control channel.

    python -m vllm_soak.engines.host --control-in FD --control-out FD

While idle it blocks in read(), so nothing in the process moves but what the engine moves itself.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

from vllm_soak.engines.channel import Channel, Closed
from vllm_soak.engines.failure import explain
from vllm_soak.engines.load import Engine, Load, LoadOrder
from vllm_soak.patching.apply import apply_selected, undo
from vllm_soak.patching.registry import known
from vllm_soak.workloads.workload import Workload, make_workload

DRIVERS = {
    "core": "vllm_soak.engines.core",
    "inproc": "vllm_soak.engines.inproc",
    "mlx": "vllm_soak.engines.mlx.driver",
}
PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
ORPHANED = 70  # EX_SOFTWARE: nobody reads this exit code, the controller is gone


def watch_controller(fd: int) -> None:
    """End this process at once when the other end of `fd` closes, whatever the main thread does.

    The thread sleeps in poll() and wakes for a hang-up only, so it costs nothing.
    """

    def wait() -> None:
        poller = select.poll()
        poller.register(fd, 0)
        poller.poll()
        os._exit(ORPHANED)

    threading.Thread(target=wait, name="soak-controller-watch", daemon=True).start()


def die_with_controller() -> None:
    """Have the kernel kill this process when the thread that started it ends; Linux only, best effort.

    The watch above needs a running process: one that is stopped would outlive its controller.
    """
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    except (OSError, AttributeError):
        return  # the watch is enough for a process that runs


def failure(command: dict[str, Any], reason: BaseException) -> dict[str, Any]:
    """The answer to a command that failed."""
    cause, remedy = explain(reason)
    trace = "".join(traceback.format_exception(type(reason), reason, reason.__traceback__))
    return {"id": command.get("id"), "error": {"cause": cause, "remedy": remedy, "traceback": trace}}


def load(channel: Channel, engine: Engine, workload: Workload, command: dict[str, Any]) -> dict[str, Any]:
    """Run one `load` and say how far it is, a few times a second."""

    def progress(done: int, total: int) -> None:
        channel.send({"event": "progress", "id": command["id"], "done": done, "total": total})

    return Load(engine, workload, LoadOrder.read(command), progress).run()


def answer(channel: Channel, engine: Engine, workload: Workload, command: dict[str, Any]) -> dict[str, Any]:
    """Do one command of a running engine."""
    name = command.get("command")
    if name == "load":
        return {"id": command["id"], "loaded": load(channel, engine, workload, command)}
    if name == "patches":
        return {"id": command["id"], "switched": switch_patches(package_of(engine), on=bool(command["on"]))}
    if name == "stop":
        return {"id": command["id"], "stopped": {}}
    raise ValueError(f"unknown command {name!r}: known are start, load, patches and stop")


def package_of(engine: Engine) -> str:
    """Import name of the engine that a driver drives."""
    return getattr(engine, "package", "vllm")


def switch_patches(package: str, *, on: bool) -> dict[str, Any]:
    """Apply the selected patches, or take all of ours back, in the running engine."""
    if on:
        apply_selected(engine=package, announce=False)
        return {}
    for patch in known(package):
        undo(patch)
    return {}


def serve(channel: Channel, start: dict[str, Any], engine: Engine) -> None:
    """Answer commands until `stop`.

    The local name `engine` is the root of the paths that a census prints.

    Raises:
        Closed: The controller is gone.
    """
    workload = make_workload(start.get("workload") or {}, engine.vocab_size)
    channel.send({"id": start["id"], "ready": engine.facts()})
    while True:
        command = channel.receive()
        try:
            channel.send(answer(channel, engine, workload, command))
        except Closed:
            raise
        except Exception as reason:  # noqa: BLE001 - reported to the controller, which decides
            channel.send(failure(command, reason))
        if command.get("command") == "stop":
            return


def load_plugins(driver: str) -> None:
    """Load the plugins, this package's among them; an engine on mlx knows of none but ours."""
    if driver == "mlx":
        from vllm_soak.probe import plugin

        plugin.load(engine="vllm_mlx")
        return
    from vllm_soak.engines import vllm_compat  # an engine that fails to import is reported

    if driver == "core":
        vllm_compat.mend_torch()  # before the patches import what they change
    vllm_compat.load_plugins()


def build_and_serve(channel: Channel) -> None:
    """Take the `start` command, load the plugins, and run its driver.

    Raises:
        Closed: The controller is gone.
    """
    start = channel.receive()
    if start.get("command") == "stop":
        channel.send({"id": start["id"], "stopped": {}})
        return
    try:
        driver = importlib.import_module(DRIVERS[start["driver"]])
        load_plugins(start["driver"])
        driver.run(start, partial(serve, channel, start))
    except Closed:
        raise
    except BaseException as reason:  # noqa: BLE001 - engines raise SystemExit too; the controller says what happened
        channel.send(failure(start, reason))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the host on two inherited descriptors."""
    parser = argparse.ArgumentParser(prog="python -m vllm_soak.engines.host")
    parser.add_argument("--control-in", type=int, required=True)
    parser.add_argument("--control-out", type=int, required=True)
    given = parser.parse_args(arguments)
    for fd in (given.control_in, given.control_out):
        os.set_inheritable(fd, False)
    # Both drivers keep scheduler and front end in this process; vLLM reads this when it is used.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    die_with_controller()
    watch_controller(given.control_in)
    try:
        build_and_serve(Channel(given.control_in, given.control_out))
    except Closed:
        sys.exit(ORPHANED)


if __name__ == "__main__":
    main()
