# SPDX-License-Identifier: Apache-2.0
"""`debug-arrays`: two addresses of the engine's own server that tell what its memory is made of.

`/debug/mx_arrays` counts live arrays by shape and type, `/debug/mx_referrers?shape=1,4,32,32` says who holds those of
one shape. They exist where `VLLM_SOAK_DEBUG_ARRAYS` asks for them when the server starts: `1` for clients of this
machine, `all` for any; everywhere else the server answers 404 as it does for what it does not know. An API key that the
engine demands is demanded here too. Answers are bounded, one is made at a time, and no content of a request is in them.
Upstream's addresses of this kind stand in `routes/health.py`, or in `server.py` where there is no such file.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from vllm_soak.patches.vllm_mlx.routes.local_client import is_local
from vllm_soak.patching.fingerprint import table
from vllm_soak.patching.match import Declined
from vllm_soak.patching.patch import Target
from vllm_soak.patching.status import Status

LOGGER = logging.getLogger("vllm.vllm_soak")
VARIABLE = "VLLM_SOAK_DEBUG_ARRAYS"
LOCAL, ANY = "1", "all"
ARRAYS, REFERRERS = "/debug/mx_arrays", "/debug/mx_referrers"
STANDARD, MOST = 50, 200
MOST_SIDES, MOST_DIGITS = 8, 9
OK, WRONG, FORBIDDEN, BUSY = 200, 400, 403, 503

Answer = tuple[int, dict[str, Any]]
_one_at_a_time = threading.Lock()


def armed() -> str:
    """What the environment asks for: `1`, `all`, or an empty string for nothing."""
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    return wanted if wanted in {LOCAL, ANY} else ""


def require_armed() -> None:
    """Leave the server alone unless its environment asks for the addresses.

    Raises:
        Declined: It does not.
    """
    if not armed():
        raise Declined(Status.DISABLED, f"{VARIABLE} is neither 1 (clients of this machine) nor all")


def with_addresses(load: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `load_model`, which every way of serving calls before it listens, to add the two addresses."""

    @functools.wraps(load)
    def loaded(*args: Any, **kwargs: Any) -> Any:
        found = load(*args, **kwargs)
        try:
            add_addresses(sys.modules[load.__module__].app, key_check(load.__module__))
        except Exception as error:  # noqa: BLE001 - the server starts whatever is wrong with us
            LOGGER.warning("vllm-soak: patch debug-arrays could not add its addresses: %r", error)
        return found

    return loaded


def key_check(server: str) -> Any:
    """The engine's own check of API keys, given the name of its server's module.

    Raises:
        AttributeError: It has none, and then nobody is answered.
    """
    package = server.partition(".")[0]
    holder = sys.modules.get(f"{package}.middleware.auth", sys.modules[server])
    return holder.verify_api_key


def add_addresses(app: Any, check: Any) -> None:
    """Add both addresses to a FastAPI application, once."""
    from fastapi import Depends

    if not lacks_addresses(app):
        return
    for path, answer in ((ARRAYS, told_arrays), (REFERRERS, told_referrers)):
        options = {"methods": ["GET"], "include_in_schema": False, "dependencies": [Depends(check)]}
        app.add_api_route(path, endpoint(answer), **options)


def lacks_addresses(app: Any) -> bool:
    """Behaviour check: whether an application does not answer at these addresses."""
    return all(getattr(route, "path", "") != ARRAYS for route in app.routes)


def endpoint(answer: Callable[[Mapping[str, str]], Answer]) -> Callable[..., Any]:
    """A handler that FastAPI runs in a thread of its own, so that other requests go on."""
    from fastapi import Request
    from fastapi.responses import JSONResponse

    def handle(request: Any) -> Any:
        status, content = answered(request, answer)
        return JSONResponse(content, status_code=status, headers={"Cache-Control": "no-store"})

    handle.__annotations__ = {"request": Request}
    return handle


def answered(request: Any, answer: Callable[[Mapping[str, str]], Answer]) -> Answer:
    """Status and content of an answer, also to a client that gets none."""
    if armed() != ANY and not is_local(request.client, request.headers):
        return FORBIDDEN, _error(f"only clients of this machine are answered: {VARIABLE}=all answers any")
    if not _one_at_a_time.acquire(blocking=False):
        return BUSY, _error("another such question is being answered: ask again")
    try:
        return answer(request.query_params)
    except ValueError as wrong:
        return WRONG, _error(str(wrong))
    finally:
        _one_at_a_time.release()


def told_arrays(query: Mapping[str, str]) -> Answer:
    """Live arrays by shape and type, most bytes first, and mlx's own counts.

    Raises:
        ValueError: `limit` is out of range.
    """
    from vllm_soak.sampling.mlx import by_shape, mlx

    most = _limit(query)
    groups = by_shape()
    size = sum(group["bytes"] for group in groups)
    counts = {name.removeprefix("mlx_"): int(value) for name, value in mlx().items()}
    return OK, {
        "mlx": counts,
        "arrays": sum(group["count"] for group in groups),
        "bytes": size,
        "active_beyond_arrays": counts.get("active", 0) - size,
        "groups": groups[:most],
        "groups_left_out": max(0, len(groups) - most),
        "blind_spots": "an array that only an unevaluated graph holds is not seen; a view counts what it shows, "
        "not the buffer that it keeps, and views of one buffer count each",
    }


def told_referrers(query: Mapping[str, str]) -> Answer:
    """Who holds arrays of one shape, as paths from a module or a thread's frame.

    Raises:
        ValueError: `shape` or `limit` is missing, or wrong.
    """
    from vllm_soak.sampling.mlx_holders import holders

    shape, dtype = _shape(query), query.get("dtype")
    return OK, {"shape": list(shape), "dtype": dtype, **holders(shape, dtype, _limit(query))}


def _shape(query: Mapping[str, str]) -> tuple[int, ...]:
    text = query.get("shape")
    sides = text.split(",") if text else []
    if text is None or len(sides) > MOST_SIDES or not all(is_number(side.strip()) for side in sides):
        raise ValueError(
            f"shape is wanted like 1,4,32,32, of {MOST_SIDES} sides at most: {ARRAYS} lists those that there are"
        )
    return tuple(int(side) for side in sides)


def _limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", str(STANDARD))
    if not is_number(text) or not 1 <= int(text) <= MOST:
        raise ValueError(f"limit is wanted from 1 to {MOST}")
    return int(text)


def is_number(text: str) -> bool:
    """Whether a text is a whole number, of so few digits that it is one in C as well."""
    return text.isdecimal() and len(text) <= MOST_DIGITS


def _error(sentence: str) -> dict[str, Any]:
    return {"error": {"message": sentence}}


TARGETS = (
    Target(
        "vllm_mlx.server:load_model",
        ("model_name",),
        with_addresses,
        table(
            {
                "2ab98fb8164a2124": "0.9.13 0.10.0",
                "fd1446a469d464ee": "0.10.18",
                "10977b3e5b56f074": "0.12.18",
                "79d900c4d3ffadc0": "0.13.1",
                "23a9b5c7d1be0655": "0.13.2",
                "4bdf67a054ec9015": "0.13.4",
                "6363425c53fbf735": "0.16.10",
                "b8566793d2537c68": "0.2.7",
                "59a6762ca8640dcb": "0.2.8",
                "551df0539cb64867": "0.2.9",
                "5c957bbe013c285d": "0.3.0",
                "9941f44e98277f83": "0.4.0 0.4.1",
                "8aba5ef15296c205": "0.5.0",
                "9dd40ed3b46643ab": "0.6.0",
            }
        ),
    ),
)
