# SPDX-License-Identifier: Apache-2.0
"""Text from an engine, made safe to show: no control characters, no surprises for a terminal."""

from __future__ import annotations

import unicodedata

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
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
    safe = "".join(escaped(char) if unicodedata.category(char) in HIDDEN else char for char in line)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def escaped(char: str) -> str:
    """The Python escape of one character."""
    return char.encode("unicode_escape").decode("ascii")


def plain_ascii(text: str) -> str:
    """Replace what a terminal without Unicode cannot show."""
    return text.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")
