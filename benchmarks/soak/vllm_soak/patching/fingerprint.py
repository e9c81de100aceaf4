# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of engine functions: what tells a patch that it still meets the code it was written for.

`python -m vllm_soak.patching.fingerprint` prints those of the running engine, for the tables beside
the patches.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGITS = 16


def fingerprint(function: Any) -> str:
    """Hash a function's source, so that it depends on the release and not on the Python that runs it.

    Args:
        function: A function, or the wrapper of one (`functools.wraps`).

    Returns:
        Sixteen hexadecimal digits.

    Raises:
        OSError: The source is not available.
        TypeError: It is not a Python function.
    """
    return digest(inspect.getsource(inspect.unwrap(function)))


def digest(source: str) -> str:
    """Hash source text, blind to indentation of the whole and to blanks at line ends."""
    lines = (line.rstrip() for line in textwrap.dedent(source).strip().splitlines())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGITS]


def table(releases_by_fingerprint: Mapping[str, str]) -> dict[str, str]:
    """Turn `{fingerprint: "release release ..."}` into `{release: fingerprint}`."""
    return {release: value for value, releases in releases_by_fingerprint.items() for release in releases.split()}


def main() -> int:
    """Print `patch target release fingerprint` for the engine of this interpreter.

    Returns:
        0, or 64 without an engine.
    """
    from vllm_soak.patching.engine import installed_release
    from vllm_soak.patching.registry import known

    found = False
    for patch in known():
        version = installed_release(patch.engine)
        found = found or version is not None
        for target in patch.targets() if version is not None else ():
            sys.stdout.write(f"{patch.name} {target.path} {version} {_of_target(target)}\n")
    if not found:
        sys.stderr.write("No engine is installed for this Python: run it with the engine's interpreter.\n")
    return 0 if found else 64


def _of_target(target: Any) -> str:
    from vllm_soak.patching.resolve import resolve

    try:
        return fingerprint(resolve(target.path).function)
    except (ImportError, AttributeError):
        return "absent"
    except (OSError, TypeError):
        return "no-source"


if __name__ == "__main__":
    raise SystemExit(main())
