# SPDX-License-Identifier: Apache-2.0
"""A small engine of real classes in a real module, and patches of it."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vllm_soak.patching import apply, status
from vllm_soak.patching.fingerprint import fingerprint
from vllm_soak.patching.patch import Patch, Target

SOURCE = """
class Base:
    def inherited(self, x):
        return ("inherited", x)


class Engine(Base):
    def first(self, x):
        return ("first", x)

    def second(self, x, extra=None):
        return ("second", x)

    def third(self):
        return "third"

    @staticmethod
    def fixed(x):
        return ("fixed", x)


class Locked(type):
    def __setattr__(cls, name, value):
        raise TypeError(f"cannot set {name!r}")


class Compiled(metaclass=Locked):
    def method(self, x):
        return ("method", x)


def alone(x):
    return ("alone", x)
"""
_numbers = itertools.count()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ModuleType]:
    """The engine's module; a new one for each test."""
    name = f"small_engine_{next(_numbers)}"
    (tmp_path / f"{name}.py").write_text(SOURCE, encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    yield importlib.import_module(name)
    sys.path.remove(str(tmp_path))
    del sys.modules[name]


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Statuses and applied patches are kept per process: each test starts without any."""
    yield
    apply._applied.clear()
    apply._said.clear()
    status._statuses.clear()


def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A replacement that returns the original's answer twice."""

    @functools.wraps(function)
    def twice(*args: Any, **kwargs: Any) -> Any:
        answer = function(*args, **kwargs)
        return (answer, answer)

    return twice


@pytest.fixture
def make_target(engine: ModuleType) -> Callable[..., Target]:
    def make(dotted: str, **fields: Any) -> Target:
        owner: Any = engine
        for part in dotted.split("."):
            owner = getattr(owner, part, None)
        found = fingerprint(owner) if callable(owner) else "0" * 16
        given = {"parameters": (), "build": doubled, "fingerprints": {"1.0": found, "1.1": found}, **fields}
        return Target(path=f"{engine.__name__}:{dotted}", **given)

    return make


@pytest.fixture
def make_patch(make_target: Callable[..., Target]) -> Callable[..., Patch]:
    def make(*targets: str | Target, **fields: Any) -> Patch:
        made = tuple(make_target(target) if isinstance(target, str) else target for target in targets)
        plain = Patch(
            name="small",
            summary="",
            upstream="PR 1",
            affected=">=1.0,<2.0",
            targets=lambda: made,
            already_fixed=lambda: False,
            present=bool,
            engine="small_engine",
        )
        return dataclasses.replace(plain, **fields)

    return make
