# SPDX-License-Identifier: Apache-2.0
"""Tiny models, built locally and always the same: `tiny:llama`, `tiny:gemma3`, `tiny:lfm2`."""
