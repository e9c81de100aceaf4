# SPDX-License-Identifier: Apache-2.0
"""The import path, extended once a request."""

from __future__ import annotations

import sys

PATH = "sys.path"


def step() -> None:
    sys.path.append("/nowhere")
