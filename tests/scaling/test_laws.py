"""Published laws: right values, right refusals, and the physics that every law obeys."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.scaling.forecast import predict_loss
from planner.scaling.forms import FORMS
from planner.scaling.laws import CONVENTIONS, choose_law, law, law_names
from planner.scaling.reach import reach_of

NEEDED = {"joint-moe2025": {"experts": 8.0}, "krajewski2024-moe": {"granularity": 8.0}}
PARAMS = st.floats(min_value=1e6, max_value=1e12)
RATIO = st.floats(min_value=1, max_value=1000)  # tokens per parameter


def test_the_default_law_gives_the_losses_of_chinchilla_and_gopher() -> None:
    besiroglu = law("besiroglu2024")
    assert float(besiroglu.loss(70e9, 1.4e12)) == pytest.approx(1.97388, abs=5e-6)
    assert float(besiroglu.loss(280e9, 300e9)) == pytest.approx(1.99961, abs=5e-6)


def test_hoffmanns_unrounded_constants_give_their_own_loss() -> None:
    assert float(law("hoffmann2022-a3").loss(70e9, 1.4e12)) == pytest.approx(1.92085, abs=5e-6)


def test_kaplan_without_a_limit_of_data_gives_2_83_at_1e8() -> None:
    assert float(law("kaplan2020").loss(1e8, 1e30)) == pytest.approx(2.82996, abs=1e-5)


def test_the_data_constrained_law_reproduces_its_repositorys_example_to_every_digit() -> None:
    loss = float(law("muennighoff2023").loss(6.34e9, 242e9, unique_tokens=25e9))
    assert loss == pytest.approx(2.2256440889984477, rel=1e-13)


def test_repeats_are_worth_less_than_fresh_tokens_and_more_than_none() -> None:
    known = law("muennighoff2023")
    fresh = known.loss(1e9, 8e10)
    once = known.loss(1e9, 2e10)
    repeated = known.loss(1e9, 8e10, unique_tokens=2e10)
    assert fresh < repeated < once


def test_an_endless_number_of_epochs_stops_helping() -> None:
    losses = law("muennighoff2023").loss(1e9, np.array([4e11, 4e12]), unique_tokens=1e9)
    assert losses[0] - losses[1] < 1e-6


@pytest.mark.parametrize(("bits", "kept"), [(8, 0.949774), (4, 0.775886)])
def test_few_bits_are_fewer_parameters(bits: float, kept: float) -> None:
    low = float(law("kumar2024").loss(1e9, 2e10, weight_bits=bits))
    assert low == pytest.approx(float(law("besiroglu2024").loss(kept * 1e9, 2e10)), rel=1e-6)


def test_the_joint_law_at_one_expert_is_a_dense_law_with_the_papers_constants() -> None:
    terms = law("joint-moe2025").loss(np.array([1e9, 2e9]), 1e30, experts=1) - 1.3637
    exponent = np.log2(terms[1] / terms[0])
    assert exponent == pytest.approx(-0.1817, abs=1e-3)  # arXiv:2502.05172, table 4


@pytest.mark.parametrize("name", law_names())
@given(params=PARAMS, ratio=RATIO)
def test_the_loss_falls_with_parameters_and_with_tokens(
    name: str, params: float, ratio: float
) -> None:
    known, conditions, tokens = law(name), NEEDED.get(name, {}), params * ratio
    here = float(known.loss(params, tokens, **conditions))
    assert float(known.loss(2 * params, tokens, **conditions)) < here
    assert float(known.loss(params, 2 * tokens, **conditions)) < here


@pytest.mark.parametrize("name", law_names())
def test_an_array_gives_what_its_elements_give(name: str) -> None:
    known, conditions = law(name), NEEDED.get(name, {})
    params, tokens = np.array([1e8, 1e9, 1e10]), np.array([2e9, 2e10, 2e11])
    together = known.loss(params, tokens, **conditions)
    alone = [float(known.loss(n, d, **conditions)) for n, d in zip(params, tokens, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-14)


@pytest.mark.parametrize("name", law_names())
def test_every_law_states_source_range_and_convention(name: str) -> None:
    known = law(name)
    assert known.form in FORMS
    assert known.counts in CONVENTIONS
    assert known.read in {"paper", "secondary"}
    assert "arXiv:" in known.source
    assert all(low < high for low, high in known.ranges.values())


def test_the_draws_of_the_default_law_centre_on_its_constants() -> None:
    known = law("besiroglu2024")
    assert known.draws is not None
    for name in ("E", "alpha", "beta"):
        assert np.median(known.draws[name]) == pytest.approx(known.constants[name], rel=0.03)


def test_an_unknown_law_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(PlannerError, match="besiroglu2024"):
        law("besiroglu")


def test_a_condition_that_a_law_does_not_know_names_the_law_that_does() -> None:
    with pytest.raises(PlannerError, match="muennighoff2023"):
        law("besiroglu2024").loss(1e9, 1e11, unique_tokens=1e10)


def test_a_condition_that_a_law_needs_is_asked_for() -> None:
    with pytest.raises(PlannerError, match="experts"):
        law("joint-moe2025").loss(1e9, 1e11)


def test_less_than_one_expert_is_refused() -> None:
    with pytest.raises(PlannerError, match="experts"):
        law("joint-moe2025").loss(1e9, 1e11, experts=0.5)


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf"), "many"])
def test_what_is_no_positive_number_is_refused_by_name(bad: object) -> None:
    with pytest.raises(PlannerError, match="params"):
        law("besiroglu2024").loss(bad, 1e11)  # type: ignore[arg-type]


def test_leaving_the_fitted_range_is_said_with_the_range() -> None:
    (warning,) = predict_loss(params=70e9, tokens=1.4e12).warnings
    assert "parameters 70 B (fitted on 57 M to 16.2 B)" in warning
    assert "compute 5.88e+23 FLOP (fitted on 1.4e+18 FLOP to 1.3e+22 FLOP)" in warning


def test_leaving_the_fitted_compute_widens_the_interval_by_what_is_said() -> None:
    inside = predict_loss(params=1e9, tokens=2e10)
    assert inside.reach is None
    outside = predict_loss(params=70e9, tokens=1.4e12)
    assert outside.reach is not None
    assert outside.value is not None
    assert outside.high == pytest.approx(outside.value * (1 + outside.reach.interval))
    assert outside.reach.interval > outside.reach.interval_inside
    assert f"to ±{100 * outside.reach.interval:.1f} %" in outside.warnings[0]


def test_a_size_outside_with_compute_inside_is_not_said_to_widen() -> None:
    reach = reach_of(law("besiroglu2024"), 40e9, 2e9)
    assert reach is not None
    assert [part.quantity for part in reach.outside] == ["params"]
    assert reach.interval == reach.interval_inside
    assert "no wider" in reach.warning


def test_more_than_forty_epochs_are_warned_about() -> None:
    warnings = predict_loss(params=1e9, tokens=5e10, unique_tokens=1e9).warnings
    assert any("50 epochs" in text for text in warnings)


def test_conditions_choose_the_law_that_knows_them() -> None:
    assert choose_law(None, {"unique_tokens": 1e9}).name == "muennighoff2023"
    assert choose_law("kaplan2020", {}).name == "kaplan2020"


def test_evaluating_a_law_and_an_optimum_imports_no_scipy() -> None:
    code = (
        "import sys\n"
        "from planner.scaling.forecast import predict_loss\n"
        "from planner.scaling.allocation import optimum\n"
        "predict_loss(params=1e9, tokens=2e10)\n"
        "optimum(flops=1e21)\n"
        "heavy = {'scipy', 'torch', 'pandas', 'plotly', 'optuna'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
