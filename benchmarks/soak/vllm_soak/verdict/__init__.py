# SPDX-License-Identifier: Apache-2.0
"""What a run says: rules over rounds, then statistics over bytes, then the two reconciled."""
