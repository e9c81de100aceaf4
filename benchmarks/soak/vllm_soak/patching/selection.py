# SPDX-License-Identifier: Apache-2.0
"""Which patches the user wants: `VLLM_SOAK_PATCHES=all|none|name,...`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vllm_soak.patching.patch import Patch

VARIABLE = "VLLM_SOAK_PATCHES"
# Name of our entry point in `vllm.general_plugins`.
PLUGIN = "vllm_soak"


@dataclass(frozen=True)
class Selection:
    """The user's choice.

    Args:
        names: Patches to apply.
        unknown: Words that name no patch.
        text: What the user wrote.
    """

    names: frozenset[str]
    unknown: tuple[str, ...]
    text: str

    def why_not(self, patch: Patch) -> str:
        """Why a patch is left out, or an empty string."""
        if patch.name in self.names:
            return ""
        if not self.text or "all" in self.text.lower():
            return f"off by default; to apply it, name it in {VARIABLE}"
        return f"{VARIABLE}={self.text}"

    def warning(self, patches: Iterable[Patch]) -> str:
        """One sentence on unknown names, or an empty string."""
        if not self.unknown:
            return ""
        valid = ", ".join(["all", "none", *(patch.name for patch in patches)])
        return f"{VARIABLE} names no such patch: {', '.join(self.unknown)}; valid names are {valid}."


def left_out_by_engine(environ: Mapping[str, str]) -> str:
    """Why vLLM would never load this package, or an empty string.

    `VLLM_PLUGINS` is an allow-list of plugins; vLLM drops the others without a word.
    """
    listed = environ.get("VLLM_PLUGINS")
    if listed is None or PLUGIN in (word.strip() for word in listed.split(",")):
        return ""
    return f"VLLM_PLUGINS={listed} does not list {PLUGIN}, so vLLM never loads it"


def unknown_names(text: str, patches: Iterable[Patch]) -> str:
    """One sentence on the words of a selection that name no patch, or an empty string."""
    patches = list(patches)
    return select({VARIABLE: text}, patches).warning(patches)


def select(environ: Mapping[str, str], patches: Iterable[Patch]) -> Selection:
    """Read the choice; unset or empty means `all`, which leaves out patches that are off by default."""
    patches = list(patches)
    words = [word.strip().lower() for word in environ.get(VARIABLE, "").split(",") if word.strip()]
    words = words or ["all"]
    valid = {patch.name for patch in patches}
    names = valid.intersection(words)
    if "all" in words:
        names |= {patch.name for patch in patches if patch.default}
    unknown = tuple(word for word in words if word not in valid | {"all", "none"})
    return Selection(frozenset(names), unknown, environ.get(VARIABLE, "").strip())
