# SPDX-License-Identifier: Apache-2.0
"""The harness's host process with the scenarios of this folder as further drivers.

python -m corpus.host --control-in FD --control-out FD
"""

from __future__ import annotations

from vllm_soak.engines.host import DRIVERS, main

SCENARIOS = ("aborts", "adapters", "front_end", "shapes")

if __name__ == "__main__":
    DRIVERS.update({name: f"corpus.{name}" for name in SCENARIOS})
    main()
