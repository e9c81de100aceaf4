# SPDX-License-Identifier: Apache-2.0
"""Rules that know containers which stop growing by themselves, a family a file."""
