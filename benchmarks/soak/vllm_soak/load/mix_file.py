# SPDX-License-Identifier: Apache-2.0
"""A mix from a TOML file.

TOML, because the standard library reads it, and because nothing in it is guessed: a share is a number and a name is
text, whatever it looks like.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomllib

from vllm_soak.errors import UsageError
from vllm_soak.workloads.mix import make_mix


def read_mix(path: Path) -> dict[str, Any]:
    """The `mix` argument of `start`, checked.

    Raises:
        UsageError: The file cannot be read, is not TOML, or describes no possible mix.
    """
    try:
        spec = tomllib.loads(path.read_text(encoding="utf-8"))
        make_mix(spec)
    except OSError as reason:
        raise UsageError(f"the mix {path} cannot be read ({reason.strerror})", "check the path") from reason
    except UnicodeDecodeError as reason:
        raise UsageError(f"the mix {path} is not text in UTF-8", "give a TOML file, see docs/load.md") from reason
    except tomllib.TOMLDecodeError as reason:
        raise UsageError(f"the mix {path} is not TOML ({reason})", "mend that place, see docs/load.md") from reason
    except ValueError as reason:
        cause, _, remedy = str(reason).rpartition(": ")
        raise UsageError(f"{path}: {cause}", remedy) from reason
    return spec
