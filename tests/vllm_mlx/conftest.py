# SPDX-License-Identifier: Apache-2.0
"""These tests need a real engine on mlx: they run inside its environment, see test_mlx_in_engines.py."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.patching.engine import is_importable

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")
# The folder vllm_mlx/ of this repository makes a namespace package, which is not the engine.
HERE = is_importable("vllm_mlx")
KEEPS_STATE = {"0.9.13", "0.10.0", "0.10.18", "0.12.18", "0.13.1"}
NOISE = 50_000  # bytes of active memory
SPARE_ARRAYS = 10  # tokens and log-probabilities of the last step, which an idle batch still names
collect_ignore_glob = [] if HERE else ["*"]

if HERE:
    from vllm_soak.engines.mlx.driver import MlxEngine, distribution
    from vllm_soak.engines.mlx.observe import observe
    from vllm_soak.engines.mlx.turns import chat
    from vllm_soak.engines.models.build import build
    from vllm_soak.patching.apply import apply_patch, undo
    from vllm_soak.patching.registry import by_name
    from vllm_soak.patching.status import PatchStatus


@pytest.fixture(scope="session")
def release() -> tuple[str, str]:
    """Name and version of the engine here."""
    return distribution()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def make_engine(models: Path) -> Callable[..., MlxEngine]:
    """Makes an engine around a tiny model; arguments are fields of the engine's SchedulerConfig."""

    def make(kind: str, **arguments: Any) -> MlxEngine:
        return MlxEngine(str(build(kind, models)), arguments)

    return make


@pytest.fixture(scope="session")
def has_defect(release: tuple[str, str]) -> bool:
    """Whether this release keeps speculative state of finished requests."""
    return release[0] == "rapid-mlx" and release[1] in KEEPS_STATE


@pytest.fixture
def affected(has_defect: bool) -> None:
    if not has_defect:
        pytest.skip("this release does not have the defect")


@pytest.fixture
def speculating(make_engine: Callable[..., MlxEngine]) -> Callable[[], MlxEngine]:
    """Makes engines that draft a token in each step, without a prefix cache.

    Left to itself the number of drafts follows measured times.
    """
    return lambda: make_engine("qwen3_5-mtp", enable_prefix_cache=False, mtp_disable_auto_k=True, mtp_max_k=1)


@pytest.fixture
def assert_nothing_kept() -> Callable[[MlxEngine, dict[str, float]], None]:
    """Checks that an idle engine holds what it did when it was new."""

    def check(engine: MlxEngine, baseline: dict[str, float]) -> None:
        found = observe(engine.scheduler)
        assert found.get("mtp_entries", 0) == 0
        kinds = ("ssm_arrays", "kv_arrays")
        assert [found[kind] for kind in kinds] == [baseline[kind] for kind in kinds]
        assert found["arrays"] <= baseline["arrays"] + SPARE_ARRAYS
        assert found["mlx_active"] == pytest.approx(baseline["mlx_active"], abs=NOISE)

    return check


@pytest.fixture
def mtp_engine(speculating: Callable[[], MlxEngine]) -> MlxEngine:
    """An engine that really drafts tokens, without a prefix cache."""
    if importlib.util.find_spec("vllm_mlx.spec_decode") is None:
        pytest.skip("this engine has no MTP head of the vendored kind")
    engine = speculating()
    chat(engine, turns=1, tokens=5)
    if not observe(engine.scheduler).get("mtp_vendored_steps"):
        pytest.skip("this release does not attach the head to the stock model")
    return engine


@pytest.fixture
def patch() -> Iterator[Callable[[str], PatchStatus]]:
    """Applies a patch of ours by name, until the test is over."""
    applied = []

    def apply(name: str) -> PatchStatus:
        applied.append(name)
        return apply_patch(by_name(name), importlib.metadata.version(distribution()[0]))

    yield apply
    for name in applied:
        assert undo(by_name(name)) == []
