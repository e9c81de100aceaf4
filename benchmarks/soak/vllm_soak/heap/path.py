# SPDX-License-Identifier: Apache-2.0
"""How a container is reached, written as the API calls it, from the root down."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from vllm_soak.heap.attributes import type_module, type_name
from vllm_soak.heap.frames import standing, written
from vllm_soak.heap.hops import Hop, describe

if TYPE_CHECKING:
    from vllm_soak.heap.roots import Root

_ENGINES = ("vllm", "vllm_mlx", "rapid_mlx")


class Rung(NamedTuple):
    """One object on the way.

    Args:
        hop: How it is reached from the one above; None for the root.
        type: Short name of its type.
        module: Module that its type comes from; for a module, its own name.
        detail: A function, or where a suspended frame stands, `function (file:line)`; differs between releases.
    """

    hop: Hop | None
    type: str
    module: str
    detail: str = ""

    @property
    def shown(self) -> str:
        """The type as in a ladder."""
        return f"{self.type} {self.detail}" if self.detail else self.type


class Path(NamedTuple):
    """A route from a root to a container.

    Args:
        root: Label of the root.
        place: `thread/function` of the frame where the root is a local; empty for a module.
        rungs: The root and every object below it that the path names.
        ordinal: 1, or more when another container's path reads the same (the same local in two
            threads, two entries whose keys are not shown).
        general: It stands for many objects: indices and keys are left open.
    """

    root: str
    place: str
    rungs: tuple[Rung, ...]
    ordinal: int = 1
    general: bool = False

    @property
    def text(self) -> str:
        """For example `engine.scheduler.coordinator.single_type_managers[0].new_block_ids`."""
        text = self.root + "".join(self._label(rung.hop) for rung in self.rungs if rung.hop)
        return text if self.ordinal == 1 else f"{text} #{self.ordinal}"

    def _label(self, hop: Hop) -> str:
        return hop.template if self.general else hop.text

    @property
    def template(self) -> str:
        """The same with indices as `[i]` and keys as `[*]`."""
        return self.root + "".join(rung.hop.template for rung in self.rungs if rung.hop)

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits of the types and labels from the first object of the engine's downwards.

        What is above it (the local variable or the module that leads to the engine) differs from one
        way of running an engine to the next, and from one release to the next.
        """
        own = next((at for at, rung in enumerate(self.rungs) if is_engine(rung.module)), 0)
        parts = [self.rungs[own].type]
        parts += [f"{rung.hop.template if rung.hop else ''}:{rung.type}" for rung in self.rungs[own + 1 :]]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @property
    def steps(self) -> list[dict[str, str]]:
        """Rows of `store.record.Step`: indices stay with the attribute that they index."""
        rows = [{"label": self.root, "type": self.rungs[0].shown}]
        for rung in self.rungs[1:]:
            if rung.hop is None:
                continue
            if rung.hop.is_item:
                rows[-1] = {"label": rows[-1]["label"] + self._label(rung.hop), "type": rung.shown}
            else:
                rows.append({"label": self._label(rung.hop).lstrip("."), "type": rung.shown})
        return rows


def is_engine(module: str) -> bool:
    """Whether a module belongs to an inference engine."""
    return module.partition(".")[0] in _ENGINES


def is_ours(module: str) -> bool:
    """Whether a module is the harness's; a patch may leak like any code of the engine's."""
    return module.partition(".")[0] == "vllm_soak" and not module.startswith("vllm_soak.patches")


def owner_module(path: Path) -> str:
    """Module of the nearest object of a class above the container, or of the root."""
    for rung in reversed(path.rungs[:-1]):
        if rung.module and rung.module not in {"builtins", "collections"}:
            return rung.module
    return path.rungs[0].module


def trace(root: Root, chain: list[object]) -> Path:
    """The path through a chain of objects, each a referent of the one before, the root's value first."""
    if root.place:
        cls = type(chain[0])
        first = Rung(None, type_name(cls), type_module(cls) or root.owner)
    else:
        first = Rung(None, "module", root.owner)
    return Path(root.label, root.place, (first, *(rung_of(hop, item) for hop, item in describe(root, chain))))


def rung_of(hop: Hop, item: object) -> Rung:
    """The rung of an object that is reached by a hop."""
    cls = type(item)
    return Rung(hop, type_name(cls), type_module(cls), standing(item) or written(item))
