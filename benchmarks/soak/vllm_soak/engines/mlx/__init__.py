# SPDX-License-Identifier: Apache-2.0
"""vllm-mlx and rapid-mlx, driven in the engine's own process."""
