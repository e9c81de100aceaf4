# SPDX-License-Identifier: Apache-2.0
"""The heap census: which containers grow in this process, at which attribute path, and what an entry costs."""
