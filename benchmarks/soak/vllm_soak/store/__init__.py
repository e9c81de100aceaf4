# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: one SQLite file, written as the run goes."""
