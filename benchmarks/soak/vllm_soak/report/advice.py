# SPDX-License-Identifier: Apache-2.0
"""What to type next: the commands that follow from a verdict."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vllm_soak.errors import ExitCode
from vllm_soak.plan import Plan, flag
from vllm_soak.report.measure import culprits
from vllm_soak.report.printable import printable
from vllm_soak.verdict.outcome import Outcome

if TYPE_CHECKING:
    from vllm_soak.store.record import RunData
    from vllm_soak.verdict.outcome import RunVerdict

NOT_REPEATED = {"run_dir", "result_dir", "server_args"}
ATTACH = "attach"
# Its flags, with what holds when they are left out.
ATTACH_FLAGS: dict[str, object] = {
    "url": None,
    "pid": None,
    "rounds": 5,
    "max_rounds": 15,
    "interval": None,
    "duration": None,
    "max_pause_ms": 5.0,
}
CUT_SHORT = {"running", "interrupted"}
TREATED = {"applied", "not-needed"}


@dataclass(frozen=True, slots=True)
class Advice:
    """A reason and the command that serves it; the command is empty for mere advice."""

    text: str
    command: str = ""


def command(plan: dict[str, Any], **changes: object) -> str:
    """The command of a plan with some flags changed; defaults are left out."""
    if plan.get("driver") == ATTACH:
        return attach_command({**plan, **changes})
    standard = Plan().as_json()
    wanted = {**{name: plan.get(name, value) for name, value in standard.items()}, **changes}
    given = [str(one) for one in wanted.get("server_args") or ()]
    words = ["vllm-soak", "run"]
    for name, value in wanted.items():
        said = name in NOT_REPEATED or (name == "model" and str(value) in given)
        if not said and value != standard.get(name):
            words += flag_words(name, value)
    return printable(shlex.join([*words, *(["--", *given] if given else [])]))


def attach_command(plan: dict[str, Any]) -> str:
    """The command that watches a server of somebody else again."""
    changed = {name: plan.get(name) for name, usual in ATTACH_FLAGS.items() if plan.get(name) != usual}
    words = [word for name, value in changed.items() for word in flag_words(name, value)]
    return printable(shlex.join(["vllm-soak", ATTACH, *words, *flag_words("debug", plan.get("debug"))]))


def flag_words(name: str, value: object) -> list[str]:
    """One flag as words of a command line."""
    if value is None or value is False:
        return []
    if value is True:
        return [flag(name)]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (flag(name), f"{one:g}" if isinstance(one, float) else str(one))]


def advise(run: RunData, verdict: RunVerdict) -> list[Advice]:
    """The next steps, the most useful first."""
    if verdict.exit_code == ExitCode.ENGINE_FAILED or run.status == "failed":
        return [Advice("read what the engine printed (.log in the run folder), then", command(run.plan, debug=True))]
    found = culprits(verdict)
    if found and verdict.exit_code == ExitCode.CLEAN:
        return after_proof()
    if found:
        return after_leak(run, verdict)
    if verdict.outcome == Outcome.LEAK_NATIVE:
        settle = [one.settle for arm in verdict.arms for one in arm.processes if one.outcome == Outcome.LEAK_NATIVE]
        first = [Advice(f"{printable(text)}, then", command(run.plan)) for text in dict.fromkeys(settle) if text]
        return [*first, Advice("soak longer, to tell a native leak from a slow warm-up", longer(run.plan))]
    if verdict.outcome == Outcome.INCONCLUSIVE:
        return after_doubt(run, verdict)
    return [Advice("soak longer, to see smaller leaks", longer(run.plan))]


def after_proof() -> list[Advice]:
    """The patch holds: use it."""
    return [
        Advice("install the patches into the serving image", "pip install --no-deps vllm_soak-*.whl"),
        Advice("check there that they apply", "vllm-soak patches"),
    ]


def after_leak(run: RunData, verdict: RunVerdict) -> list[Advice]:
    """A leak is named: prove the patch where there is one, else watch the container."""
    found = culprits(verdict)
    treatable = [one for one in found if one.known_defect and not one.workaround and one.patch_status not in TREATED]
    if treatable and run.plan.get("driver") == ATTACH:
        return [Advice("start the server with the patch (without VLLM_SOAK_PATCHES=none), then", command(run.plan))]
    if treatable and not run.plan.get("ab"):
        proof = command(run.plan, ab=True, patches="none")
        return [Advice("prove the patch: the same soak without and with it", proof)]
    asked = run.plan.get("watch")
    watched = list(dict.fromkeys([*(asked if isinstance(asked, list | tuple) else ()), *(one.path for one in found)]))
    return [Advice("follow the container in a longer soak", longer(run.plan, watch=watched))]


def after_doubt(run: RunData, verdict: RunVerdict) -> list[Advice]:
    """What each process' verdict says would settle it, and a longer soak."""
    if run.status in CUT_SHORT:
        return [Advice("run the same soak to its end", command(run.plan))]
    settle = [process.settle for arm in verdict.arms for process in arm.processes if process.settle]
    texts = list(dict.fromkeys(printable(one) for one in settle)) or ["soak longer"]
    return [*(Advice(text) for text in texts[:-1]), Advice(texts[-1], longer(run.plan))]


def longer(plan: dict[str, Any], **changes: object) -> str:
    """The same soak with twice the rounds, and room for them in requests and time."""
    rounds = 2 * whole(plan.get("rounds"), Plan().rounds)
    most = max(whole(plan.get("max_rounds"), Plan().max_rounds), rounds)
    budget = plan.get("max_requests")
    more: dict[str, object] = {"max_requests": 2 * budget} if isinstance(budget, int) and budget else {}
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", str(plan.get("duration") or "").strip()):
        more["duration"] = f"{2 * float(found[1]):g}{found[2]}"
    return command(plan, rounds=rounds, max_rounds=most, **more, **changes)


def whole(value: object, standard: int) -> int:
    """A positive whole number of the plan, or the standard one."""
    return value if isinstance(value, int) and value > 0 else standard
