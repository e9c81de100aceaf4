# SPDX-License-Identifier: Apache-2.0
"""These tests need real vLLM classes: they run inside engine environments, see test_v1_in_engines.py."""

from __future__ import annotations

from vllm_soak.patching.engine import is_importable

# The folder vllm/ of this repository makes a namespace package, which is not vLLM.
collect_ignore_glob = [] if is_importable("vllm") else ["*"]
