# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from vllm_soak.patching.release import Release, contains

NUMBER = st.integers(0, 3).map(str)
PUBLIC = st.builds(
    lambda *parts: "".join(parts),
    st.sampled_from(["", "", "", "1!", "v"]),
    st.lists(NUMBER, min_size=1, max_size=4).map(".".join),
    st.sampled_from(["", "", "a1", "b0", "rc1", ".RC2", "-alpha", "_c3", "pre1"]),
    st.sampled_from(["", "", ".post1", "-2", ".rev", "r4"]),
    st.sampled_from(["", "", ".dev0", ".dev12", "dev"]),
)
VERSIONS = st.builds(str.__add__, PUBLIC, st.sampled_from(["", "", "+cu129", "+cpu.2", "+1", "+A_b"]))
ORDERED = st.sampled_from([">=", "<=", "<", ">"])
CLAUSES = st.one_of(
    st.builds(str.__add__, ORDERED, PUBLIC),
    st.builds(str.__add__, st.sampled_from(["==", "!="]), VERSIONS),
)


@given(VERSIONS, VERSIONS)
def test_order_is_that_of_packaging(one: str, other: str) -> None:
    ours, theirs = (Release.parse(one), Release.parse(other)), (Version(one), Version(other))
    assert (ours[0] < ours[1]) is (theirs[0] < theirs[1])
    assert (ours[0] == ours[1]) is (theirs[0] == theirs[1])
    assert (hash(ours[0]) == hash(ours[1])) or theirs[0] != theirs[1]


@given(VERSIONS)
def test_public_version_is_that_of_packaging(text: str) -> None:
    assert Release.parse(text).public == Version(text).public
    assert Release.parse(text).is_prerelease is Version(text).is_prerelease


@given(VERSIONS, st.lists(CLAUSES, min_size=1, max_size=3))
@example("0.26.0rc1", [">=0.17.1", "<0.26.0"])
@example("0.25.1+cu129", [">=0.17.1", "<0.26.0"])
@example("0.26.0+cpu", [">0.26.0"])
def test_specifiers_are_those_of_packaging(version: str, clauses: list[str]) -> None:
    specifier = ",".join(clauses)
    expected = SpecifierSet(specifier).contains(Version(version), prereleases=True)
    assert contains(specifier, Release.parse(version)) is expected


@given(st.text(alphabet="0123.+-_abcrdevpost! v", max_size=12))
def test_what_is_no_version_for_packaging_is_none_here(text: str) -> None:
    try:
        Version(text)
    except InvalidVersion:
        with pytest.raises(ValueError, match="not a PEP 440 version"):
            Release.parse(text)
    else:
        Release.parse(text)


@pytest.mark.parametrize(
    ("version", "inside"),
    [
        ("0.17.0", False),
        ("0.17.1rc0", False),
        ("0.17.1", True),
        ("0.18.0rc1", True),
        ("0.18.1.dev3+gabcdef.cu129", True),
        ("0.25.1+cu129", True),
        ("0.25.2rc0", True),
        ("0.26.0.dev1", False),
        ("0.26.0", False),
    ],
)
def test_range_of_the_first_patch(version: str, inside: bool) -> None:
    assert contains(">=0.17.1,<0.26.0", Release.parse(version)) is inside


def test_clause_that_is_none() -> None:
    with pytest.raises(ValueError, match="not a version clause"):
        contains("~=1.0", Release.parse("1.0"))
