# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from vllm_soak.engines.ending import LOAD, explain_exit, explain_stall, oom_kills


def test_a_signal_is_named() -> None:
    assert explain_exit(-9, [], oom_killed=False)[0] == "the engine was ended by SIGKILL"


def test_a_kill_for_memory_says_so() -> None:
    cause, remedy = explain_exit(-9, [], oom_killed=True)
    assert "out-of-memory" in cause
    assert "--num-gpu-blocks-override" in remedy


def test_the_load_process_is_not_the_engine() -> None:
    cause, remedy = explain_exit(-9, [], oom_killed=False, who=LOAD)
    assert cause == "the load process was ended by SIGKILL"
    assert "the engine, which did not fail" in remedy


def test_the_log_explains_an_exit_code() -> None:
    cause, _ = explain_exit(1, ["ValueError: No available memory for the cache blocks."], oom_killed=False)
    assert cause == "the engine ended with exit code 1: no memory is left for the KV cache"


def test_an_unknown_signal_is_a_number() -> None:
    assert "signal 63" in explain_exit(-63, [], oom_killed=False)[0]


def test_the_kernels_count_is_a_number() -> None:
    assert oom_kills() >= 0


def test_a_silence_is_explained_by_a_signal_where_one_holds_the_process() -> None:
    cause, remedy = explain_stall(7, 900.0, stopped=True)
    assert cause == "the engine made no progress for 900 s, since its process 7 was stopped by a signal"
    assert "SIGSTOP" in remedy
    assert "log" in explain_stall(7, 900.0, stopped=False)[1]
