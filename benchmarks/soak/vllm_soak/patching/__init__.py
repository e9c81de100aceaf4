# SPDX-License-Identifier: Apache-2.0
"""Drop-in patches inside the engine's process: gated, fingerprint-checked, atomic, never raising."""
