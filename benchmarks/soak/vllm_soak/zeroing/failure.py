# SPDX-License-Identifier: Apache-2.0
"""Why blocks were not zeroed: each failure leaves the pool as it was."""

from __future__ import annotations

from vllm_soak.errors import SoakError


class ZeroingError(SoakError):
    """Base of the failures of this folder."""


class LibraryError(ZeroingError):
    """The native library is not there, or cannot be loaded in this process."""


class LayoutError(ZeroingError, ValueError):
    """Segments that no pool can have."""


class BlockIdError(ZeroingError, IndexError):
    """A block id outside of the pool."""


class DeviceError(ZeroingError):
    """The CUDA runtime refused the call."""
