# SPDX-License-Identifier: Apache-2.0
"""`report.json`: everything a script could ask, under a versioned schema.

The schema is `templates/report.schema.json`. Within one version fields are only ever added.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from importlib import resources
from typing import TYPE_CHECKING, Any

from vllm_soak import __version__
from vllm_soak.report.advice import advise
from vllm_soak.report.latency import QUANTILES, quantile
from vllm_soak.report.measure import arm_verdict, culprits, length_curve
from vllm_soak.report.outlook import sentence
from vllm_soak.report.table import build_table
from vllm_soak.verdict.forecast import forecast

if TYPE_CHECKING:
    from vllm_soak.store.record import Arm, Round, RunData
    from vllm_soak.verdict.outcome import ArmVerdict, ProcessVerdict, RunVerdict

SCHEMA = "vllm-soak/report/1"


def render_json(run: RunData, verdict: RunVerdict) -> str:
    """The whole report as JSON text."""
    return json.dumps(plain(report(run, verdict)), indent=2, allow_nan=False) + "\n"


def load_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that every `report.json` follows."""
    text = resources.files("vllm_soak.report").joinpath("templates", "report.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def report(run: RunData, verdict: RunVerdict) -> dict[str, Any]:
    """The report as a dictionary, in the order of the schema."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "vllm-soak", "version": __version__},
        "status": run.status,
        "started": run.started,
        "outcome": verdict.outcome.value,
        "exit_code": int(verdict.exit_code),
        "reason": verdict.reason,
        "throughput_ratio": asdict(verdict.throughput) if verdict.throughput else None,
        "plan": run.plan,
        "arms": [arm_report(arm, verdict) for arm in run.arms],
        "table": asdict(build_table(run, verdict)),
        "advice": [asdict(one) for one in advise(run, verdict)],
        "events": [asdict(one) for one in run.events],
    }


def arm_report(arm: Arm, verdict: RunVerdict) -> dict[str, Any]:
    """One arm: what it is, what is said of it, and its series."""
    judged = arm_verdict(verdict, arm.name)
    return {
        "name": arm.name,
        "engine": arm.engine,
        "failure": arm.failure,
        "outcome": judged.outcome.value if judged else None,
        "reason": judged.reason if judged else "",
        "processes": [asdict(one) for one in judged.processes] if judged else [],
        "patches": [without_arm(asdict(one)) for one in arm.patches],
        "rounds": [round_report(one) for one in arm.rounds],
        "samples": [without_arm(asdict(one)) for one in arm.samples],
        "censuses": [without_arm(asdict(one)) for one in arm.censuses],
        "lengths": lengths(arm, verdict, judged.processes if judged else []),
        "forecast": forecast_report(arm, judged),
        "level_steps": [without_arm(asdict(one)) for one in arm.level_steps],
        "captures": [without_arm(asdict(one)) for one in arm.captures],
        "process_events": [without_arm(asdict(one)) for one in arm.process_events],
    }


def forecast_report(arm: Arm, judged: ArmVerdict | None) -> dict[str, Any] | None:
    """The forecast of an arm with its sentence; None where nothing was measured."""
    found = forecast(arm, judged) if judged else None
    return {**without_arm(asdict(found)), "text": sentence(found)} if found else None


def lengths(arm: Arm, verdict: RunVerdict, processes: list[ProcessVerdict]) -> list[dict[str, Any]]:
    """Length over requests of every suspect container of this arm, and of every culprit of the run."""
    suspects = [one for process in processes for one in process.suspects]
    named = {(one.process, one.path): one for one in [*suspects, *culprits(verdict)]}
    curves = [(one, length_curve(arm, one)) for one in named.values()]
    return [
        {"process": one.process, "path": one.path, "requests": curve.requests, "lengths": curve.values}
        for one, curve in curves
        if curve.values
    ]


def round_report(one: Round) -> dict[str, Any]:
    """One round, with quantiles of its latency in seconds beside the histogram."""
    names = [f"p{share * 100:g}" for share in QUANTILES]
    estimates = [quantile(one.latency, share) for share in QUANTILES]
    return {**without_arm(asdict(one)), "latency_quantiles": dict(zip(names, estimates, strict=True))}


def without_arm(row: dict[str, Any]) -> dict[str, Any]:
    """The row without the name of the arm that it stands under."""
    return {name: value for name, value in row.items() if name != "arm"}


def plain(value: Any) -> Any:
    """The value with nothing that JSON lacks: no NaN or infinity, no keys but strings, no paths."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value)
