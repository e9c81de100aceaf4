# SPDX-License-Identifier: Apache-2.0
"""Load over HTTP, from a process of its own: `python -m vllm_soak.load`."""
