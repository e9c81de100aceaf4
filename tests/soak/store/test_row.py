# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from vllm_soak.store.row import insert


def test_statement_names_every_field(records: dict[str, Any]) -> None:
    statement, values = insert("patch", records["patch"])
    assert statement.count("?") == len(values) == 7
