# SPDX-License-Identifier: Apache-2.0
"""Ways of running an engine: the target's process, and the drivers inside it."""
