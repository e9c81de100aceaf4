# SPDX-License-Identifier: Apache-2.0
"""Known failures of an engine, recognised by the text of its exception, as one cause and one remedy."""

from __future__ import annotations


def explain(reason: BaseException) -> tuple[str, str]:
    """Cause and remedy of an exception."""
    return f"the engine failed with {type(reason).__name__}: {reason}", "see the log in the run folder"
