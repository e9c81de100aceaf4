# SPDX-License-Identifier: Apache-2.0
"""The controller's end of a probe's socket."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from vllm_soak.errors import EngineError
from vllm_soak.probe.address import is_same_user, short_name

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

NOT_LOADED = (
    "vLLM did not load the vllm_soak plugin there, or could not; see the engine's log, and if VLLM_PLUGINS is set, "
    "add vllm_soak to it"
)
_OTHER = "run as the user of that process, or as root"
_LOOK = "see the engine's log in the run's folder for why it ended or hangs"


# A census's answer has some hundred rows of a few kilobytes at most.
LONGEST_ANSWER = 64 << 20
# Seconds until a probe that has too many callers is tried again.
AGAIN = 0.05


class ProbeClient:
    """Asks one process. Each question is a connection of its own, so an idle client holds nobody up.

    Args:
        path: The probe's socket.
        quick: Seconds to wait for an answer to `ping` and `patches`.
        slow: Seconds to wait for a sample or a census; an engine that is busy shares its interpreter with them.
    """

    def __init__(self, path: Path | str, *, quick: float = 30.0, slow: float = 300.0) -> None:
        self.path = Path(path)
        self._quick = quick
        self._slow = slow

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Nothing is held between questions."""

    def ping(self) -> dict[str, Any]:
        """`pid`, `process`, `version`, `python`.

        Raises:
            EngineError: The process is gone, has no probe, or did not answer in time. So for every question.
        """
        return self._ask(self._quick, command="ping")

    def sample(self, *, settle: bool = True, watch: list[str] | None = None) -> dict[str, Any]:
        """`values` and `lengths` as in `store.record.Sample`."""
        return self._ask(self._slow, command="sample", settle=settle, watch=watch or [])

    def glance(self) -> dict[str, Any]:
        """`values` of a sample of the process as it runs, and `named`: lengths of what censuses named, by path."""
        return self._ask(self._slow, command="sample", named=True)

    def census(
        self, *, baseline: bool = False, max_pause_ms: float = 0.0, aside: bool = False, contents: bool = False
    ) -> dict[str, Any]:
        """`objects`, `containers`, `seconds`, `walker`, `partial`, `populations`.

        Args:
            baseline: Forget what was seen before.
            max_pause_ms: Longest time that the walk may stop the process at once; 0 for a walk in one piece.
            aside: Leave nothing behind, so that the next census compares as if this one had not been.
            contents: Show numbers and the beginning of texts among the samples of new entries.
        """
        wanted = {"baseline": baseline, "max_pause_ms": max_pause_ms, "aside": aside, "contents": contents}
        return self._ask(self._slow, command="census", **wanted)

    def collector(self) -> dict[str, Any]:
        """How the garbage collector is set and what it has done, as in `docs/contracts.md` under `gc`."""
        return self._ask(self._quick, command="gc")

    def patches(self) -> list[dict[str, str]]:
        """Rows as in `store.record.PatchRow` without `arm`."""
        rows: list[dict[str, str]] = self._ask(self._quick, command="patches")["patches"]
        return rows

    def _ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        try:
            answer = json.loads(self._exchange(seconds, json.dumps(request).encode() + b"\n"))
        except TimeoutError as late:
            cause = f"the engine's process did not answer the probe at {self.path} within {seconds:g} s"
            raise EngineError(cause, _LOOK) from late
        except FileNotFoundError as absent:
            raise _absent(self.path) from absent
        except PermissionError as foreign:
            raise EngineError(
                f"the socket {self.path} cannot be asked ({foreign.strerror or foreign})", _OTHER
            ) from foreign
        except (OSError, ValueError) as gone:
            raise EngineError(f"the engine's process behind {self.path} is gone ({gone})", _LOOK) from gone
        return _checked(answer)

    def _exchange(self, seconds: float, request: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(seconds)
            self._connect(peer, time.monotonic() + seconds)
            # Whoever may write to the folder may put a socket of his own there.
            if os.geteuid() and not is_same_user(peer):
                raise PermissionError("it belongs to another user")
            peer.sendall(request)
            with peer.makefile("rb") as lines:
                line = lines.readline(LONGEST_ANSWER)
        if not line.endswith(b"\n"):
            raise ConnectionResetError("it hung up before it had answered")
        return line

    def _connect(self, peer: socket.socket, until: float) -> None:
        """Connect; where more callers wait than fit, the system says so at once, and it is tried again."""
        while not self._is_connected(peer):
            if time.monotonic() > until:
                raise TimeoutError
            time.sleep(AGAIN)

    def _is_connected(self, peer: socket.socket) -> bool:
        with contextlib.suppress(BlockingIOError), short_name(self.path) as name:
            peer.connect(name)
            return True
        return False


def _absent(path: Path) -> EngineError:
    """Why nothing listens at a path: its process, whose number is the socket's name, ended or never listened."""
    if path.stem.isdigit() and not _lives(int(path.stem)):
        return EngineError(f"the engine's process {path.stem} is gone", _LOOK)
    return EngineError(f"the process {path.stem} does not report: its probe was not armed ({path})", NOT_LOADED)


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    failure = answer.get("error")
    if failure is not None:
        raise EngineError(failure["cause"], failure["remedy"])
    return answer
