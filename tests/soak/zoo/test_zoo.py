# SPDX-License-Identifier: Apache-2.0
"""Every leak of the zoo is named at the right path, and nothing that is calm is called a leak.

A specimen is a module with a `step()` that does one piece of work, and constants that say what is expected of it:
`PATH`, template of the culprit, or a tuple where several are right; `OUTCOME`, where a process is judged otherwise than
by a container; `SHOWS`, something that the report says; `MOST_ROUNDS`, where the run goes on while the answer is open;
`CLEAR`, where something calm may not be left open either; `REQUIRES`, a library that it is about; `NEEDS`, something
that not every census can see.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vllm_soak.verdict.outcome import Outcome, ProcessVerdict

ZOO = Path(__file__).parent
LEAKS = sorted((ZOO / "leaks").glob("*.py"))
CALM = sorted((ZOO / "calm").glob("*.py"))
Verdicts = Callable[[Path], ProcessVerdict]
Facts = Callable[[Path], dict[str, Any]]
# What the census may not be able to see yet: the specimen that shows whether it can.
SHOWN_BY = {"populations": "linked_list", "sizes": "bytes_concat"}


def names(found: ProcessVerdict, *outcomes: Outcome) -> list[str]:
    """Templates of the suspects with one of the outcomes, the first one first."""
    return [one.template for one in found.suspects if one.outcome in (outcomes or tuple(Outcome))]


def shown(found: ProcessVerdict) -> str:
    """What a report says of the process and its first suspect."""
    first = found.suspects[:1]
    types = [step.type for one in first for step in one.steps]
    return "\n".join([found.reason, *types, *(text for one in first for text in one.samples)])


def is_at(template: str, wanted: str) -> bool:
    """Whether a template is the wanted one, or leads from it to something without a name of its own."""
    rest = template.removeprefix(wanted)
    return template.startswith(wanted) and (not rest or rest.startswith(".<"))


def can(need: str, verdict: Verdicts) -> bool:
    """Whether the census has what a specimen needs."""
    return bool(verdict(ZOO / "leaks" / f"{SHOWN_BY[need]}.py").suspects)


def expect_failure(need: str | None, verdict: Verdicts, request: pytest.FixtureRequest) -> None:
    """Mark the test as one that must fail while the census lacks what it needs."""
    if need is not None and not can(need, verdict):
        request.applymarker(pytest.mark.xfail(reason=f"the census lacks {need}", strict=True))


@pytest.mark.parametrize("module", LEAKS, ids=[one.stem for one in LEAKS])
def test_a_leak_is_named(module: Path, verdict: Verdicts, facts: Facts, request: pytest.FixtureRequest) -> None:
    known = facts(module)
    expect_failure(known.get("NEEDS"), verdict, request)
    found = verdict(module)
    assert known.get("SHOWS", "") in shown(found)
    if "OUTCOME" in known:
        assert found.outcome == known["OUTCOME"], found.reason
        return
    wanted = known["PATH"] if isinstance(known["PATH"], tuple) else (known["PATH"],)
    leaks = names(found, Outcome.LEAK)
    assert any(is_at(one, path) for one in leaks[:1] for path in wanted), (leaks, names(found))
    assert found.outcome is Outcome.LEAK


@pytest.mark.parametrize("module", CALM, ids=[one.stem for one in CALM])
@pytest.mark.flaky(reruns=0)  # one false alarm is one too many
def test_what_is_calm_is_no_leak(module: Path, verdict: Verdicts, facts: Facts, request: pytest.FixtureRequest) -> None:
    known = facts(module)
    expect_failure(known.get("NEEDS"), verdict, request)
    found = verdict(module)
    assert not names(found, Outcome.LEAK)
    assert found.outcome not in {Outcome.LEAK, Outcome.LEAK_NATIVE}, found.reason
    assert not (known.get("CLEAR") and names(found, Outcome.INCONCLUSIVE))


def test_the_zoo_is_as_large_as_promised() -> None:
    assert len(LEAKS) >= 30
    assert len(CALM) >= 15
