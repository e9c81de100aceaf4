# SPDX-License-Identifier: Apache-2.0
"""The benchmark of `benchmarks/rivals.py`: one small adapter a tool, and what runs and judges them."""
