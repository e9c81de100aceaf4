# SPDX-License-Identifier: Apache-2.0
"""Real defects of released engines, and what only looks like one, soaked by this harness."""
