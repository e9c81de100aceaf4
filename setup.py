# SPDX-License-Identifier: Apache-2.0
"""Package layout and the hand-over to CMake; everything else is in pyproject.toml."""

from setuptools import find_namespace_packages, setup

setup(
    package_dir={"": "benchmarks/soak"},
    packages=find_namespace_packages("benchmarks/soak", include=["vllm_soak", "vllm_soak.*"]),
    package_data={"vllm_soak": ["py.typed"], "vllm_soak.report": ["templates/*"]},
    # The native targets keep to the stable ABI of 3.10: one wheel for every later CPython.
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
    cmake_source_dir=".",
)
