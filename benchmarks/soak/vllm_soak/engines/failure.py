# SPDX-License-Identifier: Apache-2.0
"""Known failures of an engine, recognised by the text of its exception, as one cause and one remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_TEXT = 300


@dataclass(frozen=True)
class Known:
    """One known failure.

    Args:
        pattern: Regular expression over exception texts, type names included; its groups fill the
            braces of `cause` and `remedy`.
        cause: What went wrong.
        remedy: What to do about it.
    """

    pattern: str
    cause: str
    remedy: str


# The first match counts, so special cases stand before general ones.
KNOWN = (
    Known(
        r"(?:No such file or directory: '[^']*config\.json'|does not appear to have a file named config\.json"
        r"|no config\.json|Invalid repository ID or local directory)",
        "the model folder has no usable config.json",
        "give --model a folder that holds config.json, a model id, or tiny:llama",
    ),
    Known(
        r"(?:Repo id must (?:be in the form|use alphanumeric)|is not a local folder and is not a valid model identifier"
        r"|Cannot find an appropriate cached snapshot|couldn't connect to)",
        "the model is neither a folder here nor available from the hub",
        "check the spelling of --model, or give a folder",
    ),
    Known(
        r"max seq len \((\d+)\).{0,400}?KV cache",
        "the KV cache does not hold one sequence of {0} tokens (max_model_len)",
        "lower --max-model-len or raise --num-gpu-blocks-override",
    ),
    Known(
        r"Available memory on node.*?less than requested memory for kv \((\S+ \w+)\)",
        "a KV cache of {0} does not fit into the machine's free memory",
        "lower VLLM_CPU_KVCACHE_SPACE, or free memory",
    ),
    Known(
        r"No available memory for the cache blocks",
        "no memory is left for the KV cache",
        "free memory, raise gpu_memory_utilization (GPU), or lower VLLM_CPU_KVCACHE_SPACE (CPU)",
    ),
    Known(
        r"Free memory on device.*?desired GPU memory utilization",
        "the GPU has too little free memory for the engine",
        "end other processes on the GPU, or lower gpu_memory_utilization with --engine-args",
    ),
    Known(
        r"(?:CUDA out of memory|torch\.OutOfMemoryError|HIP out of memory)",
        "the GPU ran out of memory",
        "lower gpu_memory_utilization, --max-model-len or --num-gpu-blocks-override",
    ),
    Known(
        r"(?:can't allocate memory|not enough memory|Cannot allocate memory|MemoryError|std::bad_alloc)",
        "the machine has too little memory for what the engine asked for",
        "lower VLLM_CPU_KVCACHE_SPACE, --num-gpu-blocks-override or --max-model-len",
    ),
    Known(
        r"User-specified max_model_len \((\d+)\) is greater than the derived max_model_len",
        "max_model_len {0} is longer than the model's own limit",
        "lower --max-model-len",
    ),
    Known(
        r"prompt \(length (\d+)\).{0,200}?(?:max_model_len|(?:maximum )?model length of) (\d+)",
        "a prompt of {0} tokens and its first output token do not fit into max_model_len {1}",
        "raise --max-model-len (or what --engine-args says of it), or lower --random-input-len",
    ),
    Known(
        r"EngineArgs.*unexpected keyword argument '(\w+)'",
        "this engine release has no engine argument {0}",
        "remove it from --engine-args",
    ),
    Known(
        r"(?:Model architectures? (\[[^\]]*\]).*(?:not supported|failed to be inspected))",
        "this engine release cannot run a model of architecture {0}",
        "use another model or another release",
    ),
    Known(
        r"(?:ModuleNotFoundError|ImportError): (.*)",
        "the engine cannot be imported ({0})",
        "repair its environment, or let vllm-soak make one with --engine NAME==VERSION",
    ),
)
UNKNOWN_REMEDY = "see the log in the run folder"


def recognise(text: str) -> tuple[str, str] | None:
    """Cause and remedy of a known failure in a text, or None."""
    for known in KNOWN:
        found = re.search(known.pattern, text, re.DOTALL)
        if found:
            groups = [one_line(group or "") for group in found.groups()]
            return known.cause.format(*groups), known.remedy.format(*groups)
    return None


def explain(reason: BaseException) -> tuple[str, str]:
    """Cause and remedy of an exception; its causes are looked at as well."""
    text = "\n".join(chain(reason))
    return recognise(text) or (f"the engine failed with {one_line(chain(reason)[0])}", UNKNOWN_REMEDY)


def chain(reason: BaseException) -> list[str]:
    """`Type: text` of an exception, then of what it was raised from."""
    texts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = reason
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        texts.append(f"{type(current).__name__}: {current}")
        current = current.__cause__ or current.__context__
    return texts


def one_line(text: str) -> str:
    """A text cut to one line, without a final full stop."""
    flat = " ".join(text.split())
    return (flat[:LONGEST_TEXT] + "..." if len(flat) > LONGEST_TEXT else flat).rstrip(".")
