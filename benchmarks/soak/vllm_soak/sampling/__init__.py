# SPDX-License-Identifier: Apache-2.0
"""Measurements of the process that this runs in. What cannot be read is absent, never zero."""
