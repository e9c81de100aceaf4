# SPDX-License-Identifier: Apache-2.0
"""The leak locator on its own: in this process, or in a running one that carries the probe."""
