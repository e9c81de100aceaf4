# SPDX-License-Identifier: Apache-2.0
"""What load is offered: prompts and arrivals, the same for the same seed."""
