# SPDX-License-Identifier: Apache-2.0
"""The `serve` driver: a real OpenAI server, its process tree, and the load process beside it."""
