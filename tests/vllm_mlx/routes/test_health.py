# SPDX-License-Identifier: Apache-2.0
"""`debug-arrays` on the engine's real application; the real server answers in tests/soak/engines/mlx/test_server.py."""

from __future__ import annotations

import gc
import importlib
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from vllm_soak.patches.vllm_mlx.routes.health import (
    ARRAYS,
    MOST,
    VARIABLE,
    add_addresses,
    answered,
    lacks_addresses,
    told_arrays,
    told_referrers,
)
from vllm_soak.sampling.mlx import arrays

HERE = {"host": "127.0.0.1:8000"}


@pytest.fixture
def app() -> Any:
    fastapi = importlib.import_module("fastapi")
    return fastapi.FastAPI()


class Keeper:
    """An object of a program's own."""

    def __init__(self, kept: list[Any]) -> None:
        self.kept = kept


def peer(host: str) -> Any:
    return SimpleNamespace(host=host, port=50_000)


def request(host: str, headers: dict[str, str] | None = None, **query: str) -> Any:
    return SimpleNamespace(client=peer(host), headers=headers or HERE, query_params=query)


def test_the_server_is_left_alone_unless_the_environment_asks(
    patch: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    status = patch("debug-arrays")
    assert status.status.value == "disabled"
    assert VARIABLE in status.reason


def test_it_knows_the_server_of_this_release(patch: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    status = patch("debug-arrays")
    assert (status.status.value, status.reason.partition(" ")[0]) == ("applied", "verified")


@pytest.mark.parametrize("text", ["", "0", "yes", "none"])
def test_other_values_arm_nothing(text: str, patch: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert patch("debug-arrays").status.value == "disabled"


def test_addresses_are_added_once(app: Any) -> None:
    assert lacks_addresses(app) is True
    add_addresses(app, lambda: None)
    add_addresses(app, lambda: None)
    assert [route.path for route in app.routes].count(ARRAYS) == 1
    assert lacks_addresses(app) is False


def test_strangers_are_answered_only_when_that_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    assert answered(request("10.0.0.1"), told_arrays)[0] == 403
    assert answered(request("127.0.0.1"), told_arrays)[0] == 200
    monkeypatch.setenv(VARIABLE, "all")
    assert answered(request("10.0.0.1", {"host": "elsewhere.example"}), told_arrays)[0] == 200


def test_one_question_is_answered_at_a_time() -> None:
    def again(_query: Any) -> Any:
        return answered(request("127.0.0.1"), told_arrays)

    assert answered(request("127.0.0.1"), again)[0] == 503
    assert answered(request("127.0.0.1"), told_arrays)[0] == 200


def test_arrays_are_counted_by_shape_and_found_by_path() -> None:
    mx = importlib.import_module("mlx.core")
    gc.collect()  # what an earlier test left shall not go in between
    before = len(arrays())
    keeper = Keeper([mx.zeros((3, 5, 7)) for _ in range(4)])
    _, found = told_arrays({"limit": str(MOST)})
    assert found["arrays"] == before + 4
    (group,) = [one for one in found["groups"] if one["shape"] == [3, 5, 7]]
    assert (group["dtype"], group["count"], group["bytes"]) == ("float32", 4, 4 * 3 * 5 * 7 * 4)
    _, held = told_referrers({"shape": "3,5,7", "dtype": "float32", "limit": "3"})
    assert (held["arrays"], held["looked_at"], held["not_reached"]) == (4, 3, 0)
    assert [(one["path"], one["arrays"]) for one in held["holders"]] == [("keeper.kept[i]", 3)]
    assert told_referrers({"shape": "3,5,7", "dtype": "bfloat16"})[1]["arrays"] == 0
    del keeper


def test_keys_are_not_told_though_they_read_like_names() -> None:
    mx = importlib.import_module("mlx.core")
    keeper = Keeper([{"hunter2": mx.zeros((3, 5, 9))}])
    _, held = told_referrers({"shape": "3,5,9"})
    assert [one["path"] for one in held["holders"]] == ["keeper.kept[i][*]"]
    assert "hunter2" not in json.dumps(held)
    del keeper


def test_answers_are_bounded() -> None:
    mx = importlib.import_module("mlx.core")
    kept = [mx.zeros((1, side)) for side in range(1, 2 * MOST)]
    _, found = told_arrays({"limit": str(MOST)})
    assert len(found["groups"]) == MOST
    assert found["groups_left_out"] >= len(kept) - MOST


@pytest.mark.parametrize("limit", ["0", str(MOST + 1), "-1", "x", "", "²", "000000001999", "1" * 5000])
def test_limits_that_are_none_are_refused(limit: str) -> None:
    status, content = answered(request("127.0.0.1", limit=limit), told_arrays)
    assert (status, content["error"]["message"]) == (400, f"limit is wanted from 1 to {MOST}")


@pytest.mark.parametrize("shape", [None, "a", "1,,2", "-1", ",".join("1" * 9), "1" * 5000])
def test_shapes_that_are_none_are_refused(shape: str | None) -> None:
    query = {} if shape is None else {"shape": shape}
    status, content = answered(request("127.0.0.1", **query), told_referrers)
    assert status == 400
    assert content["error"]["message"].startswith("shape is wanted like 1,4,32,32")
