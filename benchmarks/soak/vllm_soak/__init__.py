# SPDX-License-Identifier: Apache-2.0
"""Find, name and fix the memory leaks of LLM inference engines."""

__version__ = "0.1.0"
