# SPDX-License-Identifier: Apache-2.0
"""The context variables of running threads: a value that only a context holds is reached from nowhere else."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_soak.heap import native

if TYPE_CHECKING:
    from collections.abc import Iterator


class Held(NamedTuple):
    """A context variable's value.

    Args:
        thread: Number of the thread that runs in the context.
        name: The variable's name.
        value: Its value.
    """

    thread: int
    name: str
    value: object


def _learn() -> bool:
    """Whether it is known where threads keep their contexts; asked in two contexts, which have to agree."""
    if not hasattr(native.NATIVE, "learn_contexts"):  # not built, or built before this was written
        return False
    learned = [context.run(native.NATIVE.learn_contexts, context) for context in _two_contexts()]
    return bool(learned[-1])


def _two_contexts() -> tuple[contextvars.Context, ...]:
    return contextvars.Context(), contextvars.Context()


_KNOWN = _learn()


def held_by_contexts() -> Iterator[Held]:
    """Values of the context variables of all threads; none where the native walk was not built."""
    contexts: list[tuple[int, Any]] = native.NATIVE.contexts() if _KNOWN and native.NATIVE else []
    for thread, context in contexts:
        for variable, value in context.items():
            if type(variable.name) is str:
                yield Held(thread, variable.name, value)
