# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from vllm_soak.patching.engine import installed_release, is_importable


def test_loaded_engine_says_its_version(engine: ModuleType) -> None:
    engine.__version__ = "1.2.3"  # type: ignore[attr-defined]
    assert installed_release(engine.__name__) == "1.2.3"


def test_engine_is_not_imported_when_its_distribution_knows() -> None:
    version = installed_release("pytest")
    assert version == pytest.__version__


def test_engine_without_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine_alone.py").write_text("__version__ = '4.5'\n", encoding="utf-8")
    (tmp_path / "engine_mute.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert installed_release("engine_alone") == "4.5"
    assert installed_release("engine_mute") == "unknown"
    del sys.modules["engine_alone"], sys.modules["engine_mute"]


def test_bare_folder_is_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine_folder" / "v1").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_importable("engine_folder")
    assert installed_release("engine_folder") is None
    assert installed_release("no_such_engine") is None
