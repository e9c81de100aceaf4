# SPDX-License-Identifier: Apache-2.0
"""Measured in an engine's process by `census.py`: what walks of its heap cost."""
