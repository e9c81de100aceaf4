# SPDX-License-Identifier: Apache-2.0
"""Plans that cannot be run are refused here, with one sentence, before anything starts."""

from __future__ import annotations

import math
from dataclasses import fields

from vllm_soak.engines.serve.arguments import given_value
from vllm_soak.environments.releases import TESTED_MLX
from vllm_soak.errors import UsageError
from vllm_soak.plan import FEWEST_ROUNDS, FEWEST_WARM_UP_ROUNDS, REQUEST_FLAGS, Plan, flag, parse_duration

AT_LEAST_ONE = (
    "num_prompts",
    "random_input_len",
    "random_output_len",
    "turns",
    "max_concurrency",
    "max_requests",
    "num_gpu_blocks_override",
    "max_model_len",
)
# What engines on mlx take in their own process as well.
CHATTING = ("turns", "workload growing-chat")
ABOVE_ZERO = ("request_rate", "burstiness", "block_size")


def check_plan(plan: Plan) -> None:
    """Refuse a plan that cannot be run.

    Raises:
        UsageError: A value is out of range or two flags contradict each other.
    """
    known = {field.name: getattr(plan, field.name) for field in fields(plan)}
    for name in AT_LEAST_ONE:
        if known[name] is not None and known[name] < 1:
            raise UsageError(f"{flag(name)} {known[name]} is too small", "give 1 or more")
    for name in ABOVE_ZERO:
        if not known[name] > 0:
            raise UsageError(f"{flag(name)} {known[name]} is too small", "give a number above 0")
    check_rounds(plan)
    check_lengths(plan)
    check_pairs(plan)
    check_load(plan)
    plan.engine_arguments()


def check_rounds(plan: Plan) -> None:
    """Refuse budgets that no verdict could rest on.

    Raises:
        UsageError: Fewer than three rounds, or a request budget below warm-up and three rounds.
    """
    if plan.rounds < FEWEST_ROUNDS:
        raise UsageError(f"--rounds {plan.rounds} is too few", f"a verdict needs {FEWEST_ROUNDS} rounds or more")
    if plan.max_rounds < plan.rounds:
        raise UsageError(
            f"--max-rounds {plan.max_rounds} is below --rounds {plan.rounds}", "raise it or lower --rounds"
        )
    needed = plan.num_prompts * (FEWEST_ROUNDS + FEWEST_WARM_UP_ROUNDS)
    if plan.request_budget < needed:
        raise UsageError(
            f"--max-requests {plan.max_requests} does not hold {FEWEST_WARM_UP_ROUNDS} warm-up and {FEWEST_ROUNDS} "
            f"measured rounds of {plan.num_prompts} requests",
            f"give {needed} or more, or lower --num-prompts",
        )
    if plan.duration is not None:
        parse_duration(plan.duration)


def check_lengths(plan: Plan) -> None:
    """Refuse prompts that do not fit the longest sequence.

    Raises:
        UsageError: Prefix, prompt and output together are longer than `--max-model-len`.
    """
    longest = plan.max_model_len or (2048 if plan.tiny and not on_mlx(plan) else math.inf)
    total = plan.longest_request
    if plan.random_prefix_len < 0:
        raise UsageError(f"--random-prefix-len {plan.random_prefix_len} is too small", "give 0 or more")
    chat = plan.workload == "growing-chat"
    what, fewer = ("all turns of a chat", ", give fewer --turns,") if chat else ("prefix + input + output", "")
    if total > longest:
        raise UsageError(
            f"prompts of {total} tokens ({what}) exceed the longest sequence of {longest:.0f}",
            f"shorten --random-input-len{fewer} or raise --max-model-len",
        )


def check_pairs(plan: Plan) -> None:
    """Refuse flags that contradict each other.

    Raises:
        UsageError: Naming both flags.
    """
    if not plan.patches.replace(",", " ").strip():
        raise UsageError(f"--patches {plan.patches!r} names no patch", "give none, all, or names with commas between")
    if plan.engine and plan.python:
        raise UsageError("--engine and --python exclude each other", "give one of them")
    if plan.ab and plan.patches != "none":
        raise UsageError("--ab and --patches exclude each other", "--ab runs one arm without and one with all patches")
    if plan.server_args and plan.driver != "serve":
        what = " ".join(plan.server_args)
        raise UsageError(f"{what!r} is no flag of vllm-soak", "arguments for the server need --driver serve, then --")
    if plan.workload == "shared-prefix" and plan.random_prefix_len == 0:
        raise UsageError("--workload shared-prefix needs a prefix", "give --random-prefix-len, for example 64")
    if plan.workload == "unique" and plan.random_prefix_len and plan.mix is None:
        raise UsageError("--random-prefix-len has no use with --workload unique", "add --workload shared-prefix")


def check_load(plan: Plan) -> None:
    """Refuse flags of a server's load without a server, and mixes that cannot be offered.

    Raises:
        UsageError: Naming the flag or what is wrong with the mix.
    """
    standard = Plan()
    changed = [name for name in REQUEST_FLAGS if getattr(plan, name) != getattr(standard, name)]
    changed += ["workload growing-chat"] * (plan.workload == "growing-chat") + ["mix"] * (plan.mix is not None)
    check_port(plan)
    if plan.driver != "serve":
        changed = [name for name in changed if not (on_mlx(plan) and name in CHATTING)]
        if changed:
            raise UsageError(f"{flag(changed[0])} is for servers", "add --driver serve")
        return
    if plan.mix is not None:
        if changed != ["mix"]:
            raise UsageError(f"--mix and {flag(changed[0])} exclude each other", "say it in the mix file")
        plan.requests()
        return
    check_part(plan)


def check_port(plan: Plan) -> None:
    """Refuse a port for the server that is none.

    Raises:
        UsageError: What stands after `--` has one.
    """
    port = given_value(plan.server_args, "--port")
    if port is not None and not (port.isdecimal() and 0 < int(port) < 1 << 16):
        raise UsageError(f"--port {port!r} is no port", "give 1 to 65535, or leave it out: a free one is chosen then")


def on_mlx(plan: Plan) -> bool:
    """Whether the engine is one of those on mlx, or may be: what a Python has is checked once that is known."""
    return plan.python is not None or (plan.engine or "").replace("_", "-").partition("==")[0] in TESTED_MLX


def check_part(plan: Plan) -> None:
    """Refuse a kind of request that cannot be offered.

    Raises:
        UsageError: What is wrong with it.
    """
    from vllm_soak.workloads.mix import make_mix

    try:
        make_mix({"part": [plan.part()]})
    except ValueError as reason:
        cause, _, remedy = str(reason).rpartition(": ")
        raise UsageError(f"such requests cannot be offered ({cause})", remedy) from reason
