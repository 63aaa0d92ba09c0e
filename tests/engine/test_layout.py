"""Validity rules of layouts, as arrays and as words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from planner.engine.configuration import Configuration
from planner.engine.layout import problems, valid, valid_tensor_degrees
from tests.engine.cases import batch, configuration, configurations


@settings(max_examples=80, deadline=None)
@given(configurations())
def test_the_array_rules_and_the_words_agree(each: Configuration) -> None:
    assert bool(valid(batch(each))[0]) == (not problems(each))


@pytest.mark.parametrize(
    ("heads", "kv_heads", "degrees"),
    [(28, 4, [1, 2, 4]), (12, 2, [1, 2, 4]), (52, 52, [1, 2, 4]), (64, 8, [1, 2, 4, 8])],
)
def test_tensor_degrees_on_eight_devices_divide_the_heads(
    heads: int, kv_heads: int, degrees: list[int]
) -> None:
    found = valid_tensor_degrees(heads, kv_heads, most=8)
    assert [degree for degree in found if 8 % degree == 0] == degrees


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"dp": 4}, "training.layout"),
        ({"tp": 3, "dp": 1, "num_devices": 3}, "training.layout.tp"),
        ({"ep": 2}, "training.layout.ep"),
        ({"pp": 64, "dp": 1, "num_devices": 64}, "training.layout.pp"),
        ({"cp": 8, "dp": 1, "seq_len": 1000}, "training.layout.cp"),
        ({"pp": 4, "dp": 2, "interleave": 2, "accumulation": 3}, "training.layout.interleave"),
    ],
)
def test_a_broken_rule_names_its_field(changes: dict[str, int], field: str) -> None:
    assert field in [name for name, _, _ in problems(configuration(**changes))]
