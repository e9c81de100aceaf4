# SPDX-License-Identifier: Apache-2.0
"""`new-block-ids`, the scheduler's half: drain the ids of new blocks in every step.

Upstream takes them only when the worker has to zero new blocks, which is when the model has Mamba
layers; on any other model nobody takes them, and they pile up. Here they are dropped then, and the
managers are told not to record them in the first place (see `single_type_kv_cache_manager.py`).
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from vllm_soak.patches.vllm.v1.core.single_type_kv_cache_manager import tell
from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target

if TYPE_CHECKING:
    from collections.abc import Callable

_CLASS = "vllm.v1.core.sched.scheduler:Scheduler"
_LOGGER = logging.getLogger("vllm.vllm_soak")


def drain_every_step(schedule: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Scheduler.schedule` to drop recorded ids that nobody will take.

    With zeroing on, the original has drained them into its output, and nothing is done.
    """

    @functools.wraps(schedule)
    def draining(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = schedule(self, *args, **kwargs)
        try:
            if not self.needs_kv_cache_zeroing:
                self.kv_cache_manager.take_new_block_ids()
        except Exception as error:  # noqa: BLE001 - an unforeseen subclass must keep running, leak and all
            _complain_once(f"could not drain the ids of new blocks ({type(error).__name__})")
        return output

    return draining


def tell_managers(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap `Scheduler.__init__` to tell each KV-cache manager whether its ids have a consumer.

    This also covers subclasses with a `schedule` of their own, which the other wrapper never sees.
    """

    @functools.wraps(init)
    def telling(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        try:
            for manager in managers(self):
                tell(manager, recording=bool(self.needs_kv_cache_zeroing))
        except Exception as error:  # noqa: BLE001 - as above
            _complain_once(f"could not reach a scheduler's KV-cache managers ({type(error).__name__})")

    return telling


def managers(scheduler: Any) -> tuple[Any, ...]:
    """A scheduler's single-type KV-cache managers, one for each KV-cache group."""
    return tuple(scheduler.kv_cache_manager.coordinator.single_type_managers)


def holds_block_ids(scheduler: Any) -> bool:
    """Behaviour check: whether ids were left behind by a step that is over; releases before 0.17.1 record none."""
    return any(getattr(manager, "new_block_ids", None) for manager in managers(scheduler))


@functools.cache
def _complain_once(what: str) -> None:
    _LOGGER.warning("vllm-soak: patch new-block-ids %s.", what)


TARGETS = (
    Target(
        path=f"{_CLASS}.__init__",
        parameters=("self", "vllm_config", "kv_cache_config"),
        build=tell_managers,
        fingerprints=table(
            {
                "d0dbafa3e4503dd8": "0.17.1",
                "58cc8a2097e5865e": "0.18.0 0.18.1",
                "0bdb8800460c19fb": "0.19.0 0.19.1",
                "9f990eac91cf8161": "0.20.0 0.20.1 0.20.2",
                "a263dddaff208b11": "0.21.0",
                "2590bad324154353": "0.22.0 0.22.1",
                "3307814430b88f50": "0.23.0",
                "2237f07f2049036b": "0.24.0",
                "6037656092faad9a": "0.25.0 0.25.1",
            }
        ),
    ),
    Target(
        path=f"{_CLASS}.schedule",
        parameters=("self",),
        build=drain_every_step,
        fingerprints=table(
            {
                "cb0b0e13690748c0": "0.17.1",
                "36169b942e0256b1": "0.18.0 0.18.1",
                "213f9f9586403c9a": "0.19.0 0.19.1",
                "5886abb43aa7b8f6": "0.20.0 0.20.1 0.20.2",
                "2ab85c3e0647be5e": "0.21.0 0.22.0 0.22.1",
                "443ce0efd5fd61a7": "0.23.0",
                "34232687e96bb793": "0.24.0",
                "c98b1752aa616927": "0.25.0 0.25.1",
            }
        ),
    ),
)
