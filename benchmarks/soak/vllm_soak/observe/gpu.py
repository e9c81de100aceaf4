# SPDX-License-Identifier: Apache-2.0
"""GPU memory of each process and the GPUs' clocks, through NVML when it is there.

Needs the optional `nvidia-ml-py` and a driver. Without them everything is empty, and `missing` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Gpus:
    """NVML, opened at most once.

    Attributes:
        missing: Why there are no figures of GPUs, or an empty string.
    """

    def __init__(self) -> None:
        self.missing = ""
        self._nvml: Any = None
        self._devices: list[Any] = []
        try:
            import pynvml

            pynvml.nvmlInit()
            self._devices = [pynvml.nvmlDeviceGetHandleByIndex(at) for at in range(pynvml.nvmlDeviceGetCount())]
            self._nvml = pynvml
        except ImportError:
            self.missing = "no NVML: nvidia-ml-py is not installed (pip install 'vllm-soak[gpu]')"
        except Exception as error:  # noqa: BLE001 - NVML has many errors of its own, none of them ours to handle
            self.missing = f"no NVML: {error}"

    def processes(self) -> dict[int, float]:
        """Return bytes of device memory by pid, over all devices."""
        total: dict[int, float] = {}
        for device in self._devices:
            with suppress(Exception):
                for one in self._nvml.nvmlDeviceGetComputeRunningProcesses(device):
                    total[one.pid] = total.get(one.pid, 0.0) + float(one.usedGpuMemory or 0)
        return total

    def devices(self) -> dict[str, float]:
        """Return of each GPU `gpu0_used` (bytes), `_sm_clock` (MHz), `_utilization` (%), `_temperature`, `_throttle`.

        `throttle` is NVML's bit mask of reasons why the clocks are held down; 0 is none.
        """
        values = {}
        for at, device in enumerate(self._devices):
            for name, measure in self._measures(device).items():
                with suppress(Exception):
                    values[f"gpu{at}_{name}"] = float(measure())
        return values

    def close(self) -> None:
        """Let NVML go; harmless when repeated."""
        if self._nvml is not None:
            with suppress(Exception):
                self._nvml.nvmlShutdown()
            self._nvml, self._devices = None, []

    def _measures(self, device: Any) -> dict[str, Callable[[], Any]]:
        nvml = self._nvml
        return {
            "used": lambda: nvml.nvmlDeviceGetMemoryInfo(device).used,
            "sm_clock": lambda: nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM),
            "utilization": lambda: nvml.nvmlDeviceGetUtilizationRates(device).gpu,
            "temperature": lambda: nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU),
            "throttle": lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device),
        }
