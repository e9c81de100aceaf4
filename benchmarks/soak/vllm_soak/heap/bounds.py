# SPDX-License-Identifier: Apache-2.0
"""Containers that are known to stop growing: the first inspector that knows one."""

from __future__ import annotations

from vllm_soak.heap.inspectors.blocks import blocks_of_a_request, prefix_cache, recent_requests
from vllm_soak.heap.inspectors.bound import Bound, Rule
from vllm_soak.heap.inspectors.evicting import known_class, memoised, sized_cache
from vllm_soak.heap.inspectors.queues import bounded_deque, bounded_queue, workers
from vllm_soak.heap.inspectors.standard import cursors, encodings, limited, source_lines, structs, warned_lines

RULES: tuple[Rule, ...] = (
    bounded_deque,
    bounded_queue,
    workers,
    prefix_cache,
    blocks_of_a_request,
    recent_requests,
    memoised,
    sized_cache,
    known_class,
    limited,
    structs,
    cursors,
    encodings,
    source_lines,
    warned_lines,
)


def bound_of(container: object, owners: list[object]) -> Bound | None:
    """The first rule's answer.

    Args:
        container: The container.
        owners: Objects on the way to it, from the root down.
    """
    answers = (rule(container, owners) for rule in RULES)
    return next((answer for answer in answers if answer is not None), None)
