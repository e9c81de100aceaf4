# SPDX-License-Identifier: Apache-2.0
"""Failures that a user can act on, each with the exit code it ends the command with."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What `vllm-soak` says to the shell."""

    CLEAN = 0
    LEAK = 1
    INCONCLUSIVE = 2
    ENGINE_FAILED = 3
    USAGE = 64


class SoakError(Exception):
    """Base of every failure shown as one sentence, without a traceback.

    Args:
        cause: What went wrong, without a final full stop.
        remedy: What the user can do about it, without a final full stop.
    """

    exit_code = ExitCode.INCONCLUSIVE

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}: {remedy}.")
        self.cause = cause
        self.remedy = remedy


class UsageError(SoakError):
    """A flag, path or release that cannot be used as given."""

    exit_code = ExitCode.USAGE


class EngineError(SoakError):
    """The engine could not be installed, did not start, or died under load."""

    exit_code = ExitCode.ENGINE_FAILED


class StoreError(SoakError):
    """The run folder cannot be written or read."""

    exit_code = ExitCode.INCONCLUSIVE
