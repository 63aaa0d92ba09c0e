"""The formulas with their numbers."""

from __future__ import annotations

import pytest

from planner.planning.explain import explained
from tests.planning.jobs import bones, fine_tune, job


def lines(run: object) -> dict[str, list[str]]:
    return {row["title"]: row["lines"] for row in explained(bones(run))}  # type: ignore[arg-type]


def test_each_product_is_shown_with_its_dimensions() -> None:
    layer = "\n".join(lines(job())["One layer, one micro-batch, forward"])
    assert "ffn_up: 2·m·n·k = 2·8,192·28,672·4,096 = 1.92 TFLOP" in layer
    assert "head: 2·m·n·k = 2·8,192·128,256·4,096" in layer


@pytest.mark.parametrize("model", ["gpt2-124m", "mixtral-8x7b", "deepseek-v3", "t5-small"])
def test_every_section_has_something_to_say(model: str) -> None:
    found = lines(job(model, data__seq_len=512, training__layout="auto", training__stack=None))
    assert all(found.values())
    assert len(found) == 7


def test_the_bubble_is_the_stages_over_the_micro_steps() -> None:
    found = lines(job(training__layout="pp=4,tp=2", training__stack="megatron"))
    assert any("3 / 128" in line for line in found["One optimizer step"])


def test_states_are_given_in_bytes_per_parameter() -> None:
    found = lines(fine_tune(training__precision="pure-bf16"))
    assert (
        "weights 2 + gradients 2 + master weights 0 + moments 4 = 8"
        in (found["Memory of the fullest device"][0])
    )


def test_the_price_and_the_power_name_their_sources() -> None:
    found = lines(job())
    assert any("skypilot" in line for line in found["Cost"])
    assert any("training-cost-trends" in line for line in found["Energy and carbon"])
