# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import jsonschema
import pytest

from vllm_soak.workloads.schemas import response_format, unique_schema


def test_no_two_schemas_are_alike() -> None:
    assert len({str(unique_schema(index)) for index in range(2000)}) == 2000


def test_a_schema_is_one_and_closed() -> None:
    schema = unique_schema(255)
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {"string_ff": "a", "integer_ff": 1, "boolean_ff": True, "number_ff": 0.5}
    jsonschema.validate(good, schema)
    for bad in ({**good, "more": 1}, {"string_ff": "a"}, {**good, "string_ff": "too long for it"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_the_field_names_the_schema() -> None:
    field = response_format(16)
    assert field["json_schema"] == {"name": "soak_10", "schema": unique_schema(16)}
