# SPDX-License-Identifier: Apache-2.0
"""`singleton-cycle`: the cache of a request that ran alone is freed with it, not by the next garbage collection.

Upstream gives such a cache the methods of a batch's by binding functions to the object itself, so that it refers
to itself: when its request is over, its arrays stay until the garbage collector comes by, which on a busy server
may be many requests later. Here the methods hold the cache weakly, and do the same, as in rapid-mlx from 0.15.6 on.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.patch import Target

LOGGER = logging.getLogger("vllm.vllm_soak")


class Method:
    """A function bound to an object that it does not keep alive.

    Args:
        function: Takes the object first.
        owner: The object.
    """

    __slots__ = ("_function", "_owner")

    def __init__(self, function: Callable[..., Any], owner: Any) -> None:
        self._function = function
        self._owner = weakref.ref(owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the object first.

        Raises:
            ReferenceError: The object is gone.
        """
        owner = self._owner()
        if owner is None:
            raise ReferenceError("the cache that this method belongs to is gone: whoever calls it must keep the cache")
        return self._function(owner, *args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Method:
        """That of the copy, as a bound method's would be."""
        owner = self._owner()
        return Method(self._function, memo.get(id(owner), owner))


def without_cycle(bind: Callable[[Any], None]) -> Callable[[Any], None]:
    """Wrap `_bind_singleton_surface`, which calls itself for the caches within a cache."""

    @functools.wraps(bind)
    def bound(cache_obj: Any) -> None:
        bind(cache_obj)
        loosen(cache_obj)

    return bound


def loosen(cache: Any) -> None:
    """Replace the methods by which an object refers to itself; never raises."""
    try:
        for name, method in own_methods(cache).items():
            vars(cache)[name] = Method(method.__func__, cache)
    except Exception as error:  # noqa: BLE001 - the cycle stays, as in upstream
        _complain_once(repr(error))


def own_methods(cache: Any) -> dict[str, MethodType]:
    """Bound methods that an object holds of itself, by name."""
    fields = vars(cache) if hasattr(cache, "__dict__") else {}
    return {name: value for name, value in fields.items() if isinstance(value, MethodType) and value.__self__ is cache}


@functools.cache
def _complain_once(reason: str) -> None:
    LOGGER.warning("vllm-soak: patch singleton-cycle left a cache as it was: %s", reason)


def makes_cycles(_engine: Any = None) -> bool:
    """Behaviour check: whether a cache that is given the methods refers to itself."""
    from mlx_lm.models.cache import KVCache

    from vllm_mlx import singleton_cache_fastpath

    cache = KVCache()
    singleton_cache_fastpath._bind_singleton_surface(cache)  # noqa: SLF001 - the function at fault
    return bool(own_methods(cache))


TARGETS = (
    Target(
        "vllm_mlx.singleton_cache_fastpath:_bind_singleton_surface",
        ("cache_obj",),
        without_cycle,
        table({"cd30358fef6b104f": "0.12.18 0.13.1 0.13.2 0.13.4"}),
    ),
)
