# SPDX-License-Identifier: Apache-2.0
"""Text from an engine, made safe to show: no control characters, no surprises for a terminal."""

from __future__ import annotations

import unicodedata

LONGEST = 2000
ASCII = str.maketrans(
    {
        "└": "`",
        "─": "-",
        "→": "->",
        "\N{MULTIPLICATION SIGN}": "x",
        "…": "...",
        "\N{EN DASH}": "-",
        "·": "-",
        "±": "+/-",
    }
)


def printable(text: object, longest: int = LONGEST) -> str:
    r"""Return the text in one line, with control and format characters as `\xNN` escapes.

    Line breaks become spaces. Texts longer than `longest` characters are cut, and show it.
    """
    line = " ".join(str(text).splitlines())
    safe = "".join(char if visible(char) else escaped(char) for char in line)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def visible(char: str) -> bool:
    """Whether a character can be shown as it is; spaces of any width can."""
    return char.isprintable() or unicodedata.category(char) == "Zs"


def escaped(char: str) -> str:
    """The Python escape of one character."""
    return char.encode("unicode_escape").decode("ascii")


def plain_ascii(text: str) -> str:
    """Replace what a terminal without Unicode cannot show."""
    return text.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")
