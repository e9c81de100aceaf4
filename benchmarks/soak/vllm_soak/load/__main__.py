# SPDX-License-Identifier: Apache-2.0
"""The load process: obeys the control channel on two inherited descriptors."""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
from collections.abc import Sequence

from vllm_soak.engines.channel import Channel
from vllm_soak.engines.host import die_with_controller
from vllm_soak.load.control import Service


def raise_file_limit() -> None:
    """Allow as many open files as the system lets us: every request in flight has a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def serve(read_fd: int, write_fd: int) -> None:
    """Answer commands until `stop`."""
    await Service(Channel(read_fd, write_fd)).run()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the load process."""
    parser = argparse.ArgumentParser(prog="python -m vllm_soak.load")
    parser.add_argument("--control-in", type=int, required=True)
    parser.add_argument("--control-out", type=int, required=True)
    given = parser.parse_args(arguments)
    for fd in (given.control_in, given.control_out):
        os.set_inheritable(fd, False)
    die_with_controller()
    raise_file_limit()
    asyncio.run(serve(given.control_in, given.control_out))


if __name__ == "__main__":
    main()
