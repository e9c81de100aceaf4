# SPDX-License-Identifier: Apache-2.0
"""Notices when latency, rate or processor time a request step to another level, and writes down what was going on."""
