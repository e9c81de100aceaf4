# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from vllm_soak.report.json_report import SCHEMA, load_schema, plain, render_json


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(load_schema())
    assert load_schema()["properties"]["schema"]["const"] == SCHEMA


def test_a_report_follows_its_schema(ab_run, ab_verdict):
    report = json.loads(render_json(ab_run, ab_verdict))
    Draft202012Validator(load_schema()).validate(report)
    assert report["exit_code"] == 0
    assert report["throughput_ratio"]["median"] == 1.003
    unpatched = report["arms"][0]
    assert unpatched["processes"][0]["suspects"][0]["growth"] == [8400] * 5
    assert unpatched["rounds"][0]["latency_quantiles"]["p50"] > 0
    assert unpatched["lengths"][0]["lengths"][-1] == 67_200


def test_the_schema_refuses_what_is_no_report(ab_run, ab_verdict):
    report = json.loads(render_json(ab_run, ab_verdict))
    report["arms"][0]["outcome"] = "perhaps"
    with pytest.raises(ValidationError):
        Draft202012Validator(load_schema()).validate(report)


def test_the_patched_arm_has_the_length_of_the_container_that_leaks_without(ab_run, ab_verdict):
    report = json.loads(render_json(ab_run, ab_verdict))
    by_path = {one["path"]: one["lengths"] for one in report["arms"][1]["lengths"]}
    assert by_path["engine.scheduler.kv_cache_manager.coordinator.single_type_managers[0].new_block_ids"] == [0] * 8


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.builds(PurePath, st.just("a/b")),
    lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner) | st.tuples(inner),
    max_leaves=10,
)


@given(values)
def test_anything_becomes_json(value):
    json.dumps(plain(value), allow_nan=False)


def test_what_is_not_a_number_becomes_null():
    assert plain({1: [math.nan, math.inf, 2.5]}) == {"1": [None, None, 2.5]}
