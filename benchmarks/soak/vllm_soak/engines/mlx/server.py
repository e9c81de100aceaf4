# SPDX-License-Identifier: Apache-2.0
"""`python -m vllm_soak.engines.mlx.server serve MODEL [ARGUMENTS...]`: the engine's own server, with patches and probe.

A tiny model that has no weights yet gets them first, from a process of its own: making them leaves nothing behind here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vllm_soak import patched
from vllm_soak.engines.mlx.weights import lacks_weights

PROGRAM = "vllm-mlx"


def main(words: list[str]) -> None:
    """Serve until it is ended.

    Args:
        words: Arguments of the engine's command line; the second is the model.

    Raises:
        SystemExit: With the engine's exit code.
    """
    complete(Path(words[1]))
    patched.prepare()
    from vllm_mlx.cli import main as serve

    sys.argv[:] = [PROGRAM, *words]
    serve()


def complete(folder: Path) -> None:
    """Give a tiny model's folder its weights.

    Raises:
        CalledProcessError: They could not be made.
    """
    if lacks_weights(folder):
        subprocess.run([sys.executable, "-m", "vllm_soak.engines.mlx.weights", str(folder)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
