# SPDX-License-Identifier: Apache-2.0
"""What runs inside the engine's processes, and how the controller asks it."""
