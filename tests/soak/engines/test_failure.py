# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vllm_soak.engines.failure import KNOWN, explain, one_line, recognise


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("FileNotFoundError: [Errno 2] No such file or directory: '/models/x/config.json'", "no usable config.json"),
        ("ValueError: No available memory for the cache blocks. Try", "no memory is left for the KV cache"),
        (
            (
                "ValueError: Available memory on node 0 (18.99/20.21 GiB) on kv cache allocation is less than "
                "requested memory for kv (4000.0 GiB). Decrease --kv-cache-memory-bytes"
            ),
            "a KV cache of 4000.0 GiB does not fit",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to", "the GPU ran out of memory"),
        ("ValueError: Free memory on device (1/79 GiB) is less than desired GPU memory utilization", "too little free"),
        ("ModuleNotFoundError: No module named 'vllm'", "cannot be imported (No module named 'vllm')"),
        (
            "The decoder prompt (length 220) is longer than the maximum model length of 64. Make sure",
            "a prompt of 220 tokens and its first output token do not fit into max_model_len 64",
        ),
        (
            "The decoder prompt (length 64) plus the number ... is longer than the maximum model length of 64",
            "a prompt of 64 tokens and its first output token do not fit into max_model_len 64",
        ),
        ("TypeError: EngineArgs.__init__() got an unexpected keyword argument 'no_such'", "no engine argument no_such"),
    ],
)
def test_known_texts_are_recognised(text: str, cause: str) -> None:
    found = recognise(text)
    assert found is not None
    assert cause in found[0]


def test_an_unknown_failure_is_named_by_type_and_text() -> None:
    cause, remedy = explain(RuntimeError("the flux\ncapacitor is empty."))
    assert cause == "the engine failed with RuntimeError: the flux capacitor is empty"
    assert "log" in remedy


def test_the_cause_of_an_exception_is_looked_at() -> None:
    outer = RuntimeError("Engine core initialization failed")
    outer.__cause__ = ValueError("No available memory for the cache blocks.")
    assert "KV cache" in explain(outer)[0]


def test_a_loop_of_causes_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert "RuntimeError: a" in explain(first)[0]


def test_sentences_have_no_full_stop_and_one_line() -> None:
    for known in KNOWN:
        assert not known.cause.endswith(".")
        assert not known.remedy.endswith(".")
    assert one_line("a\n b.  ") == "a b"
    assert len(one_line("x" * 1000)) < 400
