# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from vllm_soak.errors import UsageError
from vllm_soak.load.mix_file import read_mix

ROOT = Path(__file__).resolve().parents[3]


def written(folder: Path, text: str) -> Path:
    file = folder / "mix.toml"
    file.write_bytes(text.encode("latin-1"))
    return file


def test_a_mix_is_read_as_it_is_written(tmp_path: Path) -> None:
    file = written(tmp_path, '[[part]]\nshare = 2\n[[part]]\nname = "s"\nstream = true\nextra = { top_k = 1 }\n')
    assert read_mix(file) == {"part": [{"share": 2}, {"name": "s", "stream": True, "extra": {"top_k": 1}}]}


def test_the_mixes_that_we_ship_and_document_can_be_used() -> None:
    assert len(read_mix(ROOT / "benchmarks" / "http_load.toml")["part"]) == 3


def test_the_documented_mix_can_be_used(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")
    block = page.split("```toml\n")[1].split("```")[0]
    assert len(read_mix(written(tmp_path, block))["part"]) >= 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[part]\n", "is not TOML"),
        ("[[part]]\nshare = 0\n", r"mix.toml: part 1 of the mix \(unique\): share = 0 must be above 0: leave the part"),
        ("# \xe9\n", "not text in UTF-8"),
    ],
)
def test_a_mix_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_mix(written(tmp_path, text))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_mix(tmp_path / "none.toml")
