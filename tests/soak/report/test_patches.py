# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io

from rich.console import Console

from vllm_soak.report.patches import aligned, say

ROWS = [
    {"name": "new-block-ids", "upstream": "vLLM PR 44490", "affected": ">=0.17.1,<0.26.0", "status": "drifted",
     "reason": "the source of vllm.v1.core.single_type_kv_cache_manager.FullAttentionManager is another one"},
    {"name": "kv-block-zeroer", "status": "disabled", "reason": "off by default"},
]  # fmt: skip


def test_columns_line_up_and_nothing_is_cut_in_a_narrow_terminal():
    console = Console(file=io.StringIO(), width=40)
    say(console, aligned(ROWS, verify=False))
    head, first, second = console.file.getvalue().splitlines()
    assert head.split("  ")[0] == "patch"
    assert head.index("status here") == first.index("drifted") == second.index("disabled")
    assert first.endswith(ROWS[0]["reason"])
    assert ">=0.17.1,<0.26.0" in first


def test_the_defect_is_a_column_only_when_it_was_looked_for():
    rows = [{**ROWS[0], "defect": "yes"}]
    assert "defect seen" in aligned(rows, verify=True)
    assert "defect seen" not in aligned(rows, verify=False)
