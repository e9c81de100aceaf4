# SPDX-License-Identifier: Apache-2.0
"""Zeroing of KV-cache blocks in one native call, on CPU and CUDA; runs in the engine's process."""
