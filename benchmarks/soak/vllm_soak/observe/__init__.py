# SPDX-License-Identifier: Apache-2.0
"""What can be seen of a target from outside, while it works: processes, control group, GPUs, its own metrics."""
