# SPDX-License-Identifier: Apache-2.0
"""`mtp-state`: what speculative decoding keeps of a request goes when the request does.

Upstream keeps, for each request that was decoded with an MTP head, a suspended generator whose frame holds
the request's whole KV cache, and drops it only when the same uid comes up again: uids never do. Here it goes
at completion, at abort, when the batch generator is closed (error recovery included), and in a sweep at the
end of each step. What a live request needs is never touched: an entry is dropped only when its uid belongs
to no request, and dropping it closes its generator and releases this one's references, no more.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Container, MutableMapping
from types import SimpleNamespace
from typing import Any

from vllm_soak.patching.closure import freevar, nested_names
from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target

LOGGER = logging.getLogger("vllm.vllm_soak")
# Per-uid tables in the closure of the step that upstream installs: generators, and notes on uids.
_STATE, _NOTES, _LOGGED = "_state", "_disabled_uids", "_handoff_logged"
Tables = tuple[dict[int, Any], dict[int, Any], set[tuple[int, str]]]
_KEPT = "_vllm_soak_mtp_tables"
_NOTHING = SimpleNamespace()
# Upstream's own remedy, from 0.13.2 on.
_REAPER = "_reap_uid"


def entries(generator: Any) -> MutableMapping[int, dict[str, Any]] | None:
    """The table of speculative state of a batch generator: uid to entry; None where there is none."""
    tables = _tables(generator)
    return tables[0] if tables else None


def drop_departed(generator: Any, live: Container[int]) -> int:
    """Close and forget the speculative state of every uid that is not live; give their number.

    Never raises: whatever is unforeseen is left as it is.
    """
    try:
        tables = _tables(generator)
        return _drop_departed(*tables, live) if tables else 0
    except Exception as error:  # noqa: BLE001 - the engine goes on whatever is wrong with us
        _complain_once(repr(error))
        return 0


def _drop_departed(state: dict[int, Any], notes: dict[int, Any], logged: set[tuple[int, str]], live: Any) -> int:
    departed = [uid for uid in state if uid not in live]
    for uid in departed:
        close(state.pop(uid))
    for uid in [uid for uid in notes if uid not in live]:
        del notes[uid]
    logged -= {key for key in logged if key[0] not in live}
    return len(departed)


def close(entry: dict[str, Any]) -> None:
    """End one entry's generator; with its frame go its references to the caches, and no other's."""
    generator = entry.get("gen")
    entry.clear()
    if generator is not None:
        try:
            generator.close()
        except Exception as error:  # noqa: BLE001 - an engine's generator may fail while it is closed
            _complain_once(f"a generator could not be closed ({error!r})")


def _tables(generator: Any) -> Tables | None:
    """The tables of a batch generator, looked up once for the step that is installed there."""
    # A default, not `or`: an empty batch is false.
    step = vars(getattr(generator, "_generation_batch", _NOTHING)).get("_step")
    if step is None:  # no MTP: mlx-lm's own method
        return None
    kept = vars(generator).get(_KEPT)
    if kept is None or kept[0] is not step:
        found = [freevar(step, name) for name in (_STATE, _NOTES, _LOGGED)]
        whole = [type(one) for one in found] == [dict, dict, set]
        vars(generator)[_KEPT] = kept = (step, tuple(found) if whole else None)
    tables: Tables | None = kept[1]
    return tables


@functools.cache
def _complain_once(reason: str) -> None:
    LOGGER.warning("vllm-soak: patch mtp-state left something as it was: %s", reason)


def sweep(scheduler: Any) -> None:
    """Drop what is kept of requests that are not running any more."""
    drop_departed(scheduler.batch_generator, scheduler.uid_to_request_id)


def swept(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of the scheduler so that a sweep follows, also when it raised."""

    @functools.wraps(method)
    def then_sweep(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        finally:
            sweep(self)

    return then_sweep


def emptied(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that closes the batch generator: all of its requests are over, or start again."""

    @functools.wraps(method)
    def empty_first(self: Any, *args: Any, **kwargs: Any) -> Any:
        drop_departed(self.batch_generator, ())
        return method(self, *args, **kwargs)

    return empty_first


def already_fixed() -> bool:
    """Whether upstream's installer has a reaper of its own."""
    from vllm_mlx import scheduler

    installer = inspect.unwrap(scheduler._install_mtp_vendored)  # noqa: SLF001 - the function at fault
    return _REAPER in nested_names(installer)


def keeps_departed(scheduler: Any) -> bool:
    """Behaviour check: whether an idle scheduler still has speculative state of requests."""
    return bool(entries(scheduler.batch_generator))


def unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The installer stays as it is: it is among the targets so that its fingerprint is checked."""

    @functools.wraps(function)
    def same(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return same


def _target(name: str, parameters: tuple[str, ...], build: Callable[[Any], Any], releases: dict[str, str]) -> Target:
    return Target(f"vllm_mlx.scheduler:{name}", parameters, build, table(releases))


TARGETS = (
    _target(
        "_install_mtp_vendored",
        ("batch_gen", "model", "requests", "uid_to_request_id"),
        unchanged,
        {
            "5bfc1f0f7899406b": "0.9.13 0.10.0",
            "d5aae5bd28b7ff29": "0.10.18",
            "d8f693893f09d50c": "0.12.18 0.13.1",
        },
    ),
    _target(
        "Scheduler.step",
        ("self",),
        swept,
        {
            "832608404f604a6b": "0.9.13 0.10.0",
            "f51a1177df265fb8": "0.10.18",
            "251962dbed8ab4d6": "0.12.18 0.13.1",
        },
    ),
    _target(
        "Scheduler._cleanup_finished",
        ("self", "finished_ids"),
        swept,
        {"393b38ff96c7929f": "0.9.13 0.10.0", "5e41ca6bb3c0a793": "0.10.18 0.12.18 0.13.1"},
    ),
    _target(
        "Scheduler._do_abort_request",
        ("self", "request_id"),
        swept,
        {
            "53bf66e452de7652": "0.9.13 0.10.0",
            "df84550e8bbb575e": "0.10.18",
            "5f29160fb425569e": "0.12.18 0.13.1",
        },
    ),
    _target(
        "Scheduler._close_batch_generator",
        ("self",),
        emptied,
        {"813e619e453aff0e": "0.9.13 0.10.0 0.10.18 0.12.18 0.13.1"},
    ),
)
