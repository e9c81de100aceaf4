# SPDX-License-Identifier: Apache-2.0
"""What can be known of the CUDA library without a GPU: its machine code, and its behaviour without a device."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from vllm_soak.zeroing import native
from vllm_soak.zeroing.failure import BlockIdError, LayoutError

pytestmark = pytest.mark.usefixtures("cuda_library")
LIBRARY = Path(native.__file__).with_name("_zero_blocks_cuda.so")
TOOLS = ["nvidia-cuda-cuobjdump", "nvidia-cuda-nvdisasm"]
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
WITH_BULK = ("sm_90", "sm_100", "sm_120")
IDS = ("DeviceIds", "InlineIdsILi128", "InlineIdsILi4000")


@pytest.fixture(scope="session")
def cuobjdump(tmp_path_factory):
    """Run cuobjdump on the library; it comes from PyPI, and calls nvdisasm."""
    folder = tmp_path_factory.mktemp("cuda-tools")
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(folder), *TOOLS]
    subprocess.run(command, check=True, env=os.environ | {"UV_PYTHON": sys.executable})
    tools = next(folder.glob("nvidia/*/bin"))
    path = os.pathsep.join([str(tools), os.environ["PATH"]])

    def run(*arguments: str) -> str:
        line = [str(tools / "cuobjdump"), *arguments, str(LIBRARY)]
        return subprocess.run(line, check=True, capture_output=True, text=True, env=os.environ | {"PATH": path}).stdout

    return run


@pytest.fixture(scope="session")
def instructions(cuobjdump):
    """Count instructions: architecture, kernel name, opcode."""

    def count(architecture: str) -> dict[str, Counter[str]]:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        kernel = ""
        for line in cuobjdump("-sass", "-arch", architecture).splitlines():
            if found := re.search(r"Function : (\S+)", line):
                kernel = found[1]
            elif found := re.search(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]+)", line):
                counts[kernel][found[1]] += 1
        return dict(counts)

    return {architecture: count(architecture) for architecture in ARCHITECTURES}


def kernel(counts: dict[str, Counter[str]], name: str, ids: str) -> Counter[str]:
    (found,) = (counts[function] for function in counts if name in function and ids in function)
    return found


def test_code_for_every_architecture_and_ptx_for_later_ones(cuobjdump):
    assert set(re.findall(r"\.(sm_\d+)\.cubin", cuobjdump("--list-elf"))) == set(ARCHITECTURES)
    assert re.findall(r"\.(sm_\d+)\.ptx", cuobjdump("--list-ptx")) == ["sm_90"]


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_stores_are_128_bits_wide_and_to_global_memory(instructions, architecture, ids):
    code = kernel(instructions[architecture], "by_stores", ids)
    assert code["STG.E.128"] >= 8, code  # the unrolled loop
    assert not [opcode for opcode in code if re.match(r"ST\.|STL|LDL", opcode)], code  # generic, or spilled


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("architecture", WITH_BULK)
def test_bulk_stores_are_fenced_before_and_waited_for_after(instructions, architecture, ids):
    code = kernel(instructions[architecture], "by_bulk", ids)
    order = [op for op in code if op.startswith(("STS", "FENCE", "BAR", "UBLKCP", "UTMACMDFLUSH", "DEPBAR"))]
    names = [re.match(r"[A-Z]+", op)[0] for op in order]  # type: ignore[index] - they all begin with a letter
    assert names == ["STS", "FENCE", "BAR", "UBLKCP", "UTMACMDFLUSH", "DEPBAR"]
    assert "STS.128" in code


def test_the_bulk_kernel_is_empty_where_there_are_no_bulk_stores(instructions):
    code = kernel(instructions["sm_80"], "by_bulk", "DeviceIds")
    assert not [opcode for opcode in code if opcode.startswith(("ST", "UBLKCP"))], code


def test_only_our_names_are_exported_and_only_libc_is_needed():
    names = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], check=True, capture_output=True, text=True)
    assert {line.split()[-1] for line in names.stdout.splitlines()} == {
        "zero_blocks_abi",
        "zero_blocks_cuda",
        "zero_blocks_cuda_error",
        "zero_blocks_cuda_has_bulk",
        "zero_blocks_cuda_memset",
        "zero_blocks_cuda_prepare",
    }
    needed = subprocess.run(["readelf", "-d", str(LIBRARY)], check=True, capture_output=True, text=True).stdout
    libraries = set(re.findall(r"NEEDED.*\[(\w+)", needed))
    assert libraries <= {"libc", "libm", "libdl", "librt", "libpthread", "ld"}, libraries


def call(ids: list[int], *, num_blocks: int = 10, page: int = 4096, device: int = 0) -> int:
    layout = native.Layout(4096, 0, 0, 1, page, num_blocks)
    array = (ctypes.c_int64 * len(ids))(*ids)
    arguments = (ctypes.byref(layout), ctypes.addressof(array), len(ids), native.IDS_ON_HOST, 0, device, None)
    return int(native.load("cuda").zero_blocks_cuda(*arguments))


def test_host_ids_are_checked_before_the_device_is_touched():
    assert call([3, 11]) == 2
    assert call([-1]) == 1
    with pytest.raises(BlockIdError, match="block id 11 at position 1 is outside of a pool of 10 blocks"):
        native.raise_for(2, [3, 11], 10)


def test_no_ids_are_no_work_even_without_a_device():
    assert call([]) == 0


@pytest.mark.parametrize("wrong", [{"page": 0}, {"page": 6}, {"num_blocks": -1}, {"device": -1}, {"device": 64}])
def test_unsound_calls_are_refused(wrong):
    code = call([0], **wrong)
    assert code == -1
    with pytest.raises(LayoutError):
        native.raise_for(code, [0], 10)
