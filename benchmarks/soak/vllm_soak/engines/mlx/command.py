# SPDX-License-Identifier: Apache-2.0
"""The command line of a server on mlx: what the plan says, then what stands after `--`, which wins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from vllm_soak.engines.mlx.weights import HEAD, OURS, read_config
from vllm_soak.engines.serve.arguments import as_options, option
from vllm_soak.engines.serve.port import LOOPBACK
from vllm_soak.environments.releases import Release

MODULE = "vllm_soak.engines.mlx.server"
# Fields of the engine's `SchedulerConfig` that its command line turns off by a flag of another name.
OFF = {"enable_prefix_cache": "--disable-prefix-cache", "use_memory_aware_cache": "--no-memory-aware-cache"}
# Before this release, speculative decoding had flags of its own.
SPECULATIVE_CONFIG = Version("0.10.0")
# Otherwise its log has a dozen lines for each request: gigabytes in a night.
QUIET = ("--log-level", "WARNING")
# Of a tiny model, whose random texts no parser can make sense of: replies come as they are.
PLAIN = ("--no-reasoning-parser", "--no-tool-call-parser")


def server_words(
    model: str, engine_args: Mapping[str, Any], given: Sequence[str], release: Release, port: int
) -> list[str]:
    """Words after the engine's own program name.

    Args:
        model: Folder or id.
        engine_args: Fields of the engine's `SchedulerConfig`; those that its command line has.
        given: Arguments of the engine's `serve` as the user wrote them; the first may be a model.
        release: The engine.
        port: Where to listen, unless `given` says so.
    """
    ours = [word for name, value in engine_args.items() for word in setting(name, value)]
    address = ["--host", LOOPBACK, "--port", str(port)]
    return ["serve", model, *address, *standard(Path(model), release), *ours, *without_model(given)]


def setting(name: str, value: Any) -> list[str]:
    """One field of the settings as words of the command line."""
    if name in OFF:
        return [] if value else [OFF[name]]
    return option(name, value)


def standard(model: Path, release: Release) -> list[str]:
    """What a release needs to serve several requests at once in a quiet way, and a tiny model's head."""
    if release.name == "vllm-mlx":
        return ["--continuous-batching"]
    return [*QUIET, *PLAIN, *speculative(model, release)] if model.name.startswith(OURS) else [*QUIET]


def speculative(model: Path, release: Release) -> list[str]:
    """Words that switch speculative decoding on, for a tiny model that has a head."""
    if not read_config(model).get("mtp_num_hidden_layers"):
        return []
    head = str(model / HEAD)
    if Version(release.version) < SPECULATIVE_CONFIG:
        return ["--spec-decode", "mtp", "--mtp-sidecar", head]
    return ["--speculative-config", json.dumps({"method": "mtp", "model": head})]


def without_model(given: Sequence[str]) -> list[str]:
    """A user's arguments without `serve` and the model, which is the run's model."""
    words = as_options(given)
    return words[2:] if words[:1] == ["--model"] else words
