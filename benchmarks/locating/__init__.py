# SPDX-License-Identifier: Apache-2.0
"""What `benchmarks/locate_engine.py` runs: an engine that serves on command, and the rounds around it."""
