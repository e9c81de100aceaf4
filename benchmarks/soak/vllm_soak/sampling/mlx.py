# SPDX-License-Identifier: Apache-2.0
"""Memory of mlx in this process, and its live arrays by shape and type.

Two blind spots: an array that only an unevaluated graph holds is no Python object, and a view keeps the
whole buffer that it looks into, so the sum of sizes is not the memory in use.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from vllm_soak.sampling.instances import instances


def mlx() -> dict[str, float]:
    """`mlx_active`, `mlx_peak` and `mlx_cache` in bytes; empty unless this process has imported mlx itself."""
    core = sys.modules.get("mlx.core")
    if core is None:
        return {}
    return {
        "mlx_active": float(core.get_active_memory()),
        "mlx_peak": float(core.get_peak_memory()),
        "mlx_cache": float(core.get_cache_memory()),
    }


def arrays() -> list[Any]:
    """Every live mlx array that Python holds, in no order."""
    core = sys.modules.get("mlx.core")
    return [] if core is None else instances(core.array)


def dtype_of(one: Any) -> str:
    """Name of an array's type: `float32`."""
    return str(one.dtype).rpartition(".")[2]


def by_shape() -> list[dict[str, Any]]:
    """Live arrays grouped by shape and type: `shape`, `dtype`, `count`, `bytes`, most bytes first.

    `bytes` is the sum of sizes as they are seen; arrays that are views of one buffer count each.
    """
    groups: Counter[tuple[tuple[int, ...], str]] = Counter()
    sizes: Counter[tuple[tuple[int, ...], str]] = Counter()
    for one in arrays():
        key = (tuple(one.shape), dtype_of(one))
        groups[key] += 1
        sizes[key] += one.nbytes
    return [
        {"shape": list(shape), "dtype": dtype, "count": groups[shape, dtype], "bytes": size}
        for (shape, dtype), size in sizes.most_common()
    ]
