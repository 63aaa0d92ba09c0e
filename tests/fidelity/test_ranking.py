"""Regret of the predicted best among variants."""

from __future__ import annotations

import pytest

from planner.fidelity.ranking import any_variant, choices, ranking_score, same_work
from planner.fidelity.summary import Measured
from planner.fidelity.validate import Measurements
from tests.fidelity.synthetic import case, row


def pair(name: str, actual: float, predicted: float, **changes: object) -> Measured:
    return case(name, **changes), row(actual, predicted, name=name)


def test_regret_is_what_the_chosen_variant_lacks_of_the_best_in_tokens_per_second() -> None:
    pairs = [
        pair("small", actual=1.0, predicted=1.0, micro_batch=8),
        pair("large", actual=1.6, predicted=2.2, micro_batch=16),  # twice the tokens
    ]
    (choice,) = choices(pairs, same_work)
    assert (choice.best, choice.chosen) == ("large", "small")
    assert choice.regret == pytest.approx(2 / 1.6 - 1)


def test_the_right_choice_has_no_regret_whatever_its_error() -> None:
    pairs = [
        pair("a", 1.0, 9.0, micro_batch=8),
        pair("b", 3.0, 90.0, micro_batch=8, recompute="full"),
    ]
    found = ranking_score(pairs, same_work)
    assert found is not None
    assert (found.median_regret, found.right) == (0.0, 1.0)
    assert found.blind == pytest.approx((0 + 2) / 2)


def test_repeats_of_one_setting_are_one_variant() -> None:
    assert ranking_score([pair("a", 1.0, 1.0), pair("b", 1.4, 1.0)], same_work) is None


def test_other_lengths_are_variants_only_where_anything_may_differ() -> None:
    pairs = [pair("a", 1.0, 1.0), pair("b", 2.5, 2.5, seq_len=2048)]
    assert ranking_score(pairs, same_work) is None
    found = ranking_score(pairs, any_variant)
    assert found is not None
    assert found.variants == 2


def test_other_machines_and_models_are_never_variants() -> None:
    pairs = [pair("a", 1.0, 1.0), pair("b", 0.5, 0.5, sku="h100-sxm5-80gb")]
    assert ranking_score(pairs, any_variant) is None


def test_settings_of_published_runs_are_ranked_with_little_regret(
    measurements: Measurements,
) -> None:
    for subject in (same_work, any_variant):
        found = ranking_score(measurements.times, subject)
        assert found is not None
        assert found.groups > 100
        assert found.median_regret < 0.015
        assert found.p90_regret < 0.18
