# SPDX-License-Identifier: Apache-2.0
"""Where an engine lives: an existing interpreter, or an environment made and cached for one release."""
