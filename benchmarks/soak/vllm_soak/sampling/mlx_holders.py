# SPDX-License-Identifier: Apache-2.0
"""What holds the live mlx arrays of one shape and type: the path to each from the roots of a walk, keys not shown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from vllm_soak.heap.locate import Locator
from vllm_soak.heap.native import NativeWalk
from vllm_soak.heap.pace import WHOLE
from vllm_soak.heap.roots import all_roots
from vllm_soak.heap.walker import walk_heap
from vllm_soak.sampling.mlx import arrays, dtype_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from vllm_soak.heap.path import Path
    from vllm_soak.heap.walker import AnyWalk

# Characters of a path, and steps of an example in front and behind: a chain of thousands says no more.
LONGEST_PATH = 600
STEPS_IN_FRONT, STEPS_BEHIND = 12, 12


def holders(shape: tuple[int, ...], dtype: str | None, most: int) -> dict[str, Any]:
    """Who holds arrays of a shape.

    The walk holds all threads for about a tenth of a second per quarter of a million objects.

    Args:
        shape: Of the arrays.
        dtype: Such as `float32`; None for any.
        most: Arrays that are looked at, and paths that are told.

    Returns:
        `arrays` (of that kind), `looked_at`, `holders` (most arrays first: `path` with indices left open, `arrays`, and
        one `example` step by step with types), `not_reached` (those to which no path was found: garbage, or held by
        native code) and `partial`.
    """
    alike = [one for one in arrays() if tuple(one.shape) == shape and dtype in {None, dtype_of(one)}]
    looked = alike[:most]
    roots = all_roots()
    walked = walk_heap(roots, (alike, looked), WHOLE)
    try:
        found = _paths(walked.walk, Locator(roots), {id(one) for one in looked})
    finally:
        walked.walk.close()
    counts = Counter(path.template for path in found)
    examples = {path.template: path for path in reversed(found)}
    return {
        "arrays": len(alike),
        "looked_at": len(looked),
        "holders": [_row(examples[template], count) for template, count in counts.most_common()],
        "not_reached": len(looked) - len(found),
        "partial": walked.walk.partial,
    }


def _paths(walk: AnyWalk, locator: Locator, wanted: set[int]) -> list[Path]:
    """The path to each object that is found."""
    located = (locator.by_chain(way) for way in _ways(walk, wanted))
    return [one.path for one in located if one is not None]


def _ways(walk: AnyWalk, wanted: Container[int]) -> Iterator[list[int]]:
    """Addresses from a root down to each of the wanted objects that the walk came past."""
    if isinstance(walk, NativeWalk):
        yield from (walk.table.way(at) for at in range(walk.objects) if walk.table.object(at)[0] in wanted)
        return
    yield from (walk.way(at) for at, address in enumerate(walk.order) if address in wanted)


def _row(example: Path, count: int) -> dict[str, Any]:
    # Left open in the example as well: a key of one word may be a user's.
    steps = [f"{step['label']}: {step['type']}" for step in example._replace(general=True).steps]
    return {"path": _cut(example.template), "arrays": count, "example": _ends(steps)}


def _ends(steps: list[str]) -> list[str]:
    return steps[:STEPS_IN_FRONT] + steps[STEPS_IN_FRONT:][-STEPS_BEHIND:]


def _cut(path: str) -> str:
    half = LONGEST_PATH // 2
    return path if len(path) <= LONGEST_PATH else f"{path[:half]} … {path[-half:]}"
