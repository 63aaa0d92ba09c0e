"""What the planner chooses when a run leaves it open."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.engine.choices import LOSSES
from planner.engine.constants import constants
from planner.planning.candidates import candidates, single
from planner.planning.choose import SURE, complications, evaluated, rows, unusual_loss
from planner.planning.intervals import memory_spread
from planner.planning.losses import FILE, offered
from planner.planning.memory_doubts import memory_doubts
from planner.planning.plan import plan
from planner.planning.scenario import scenario
from planner.stacks import stack
from tests.planning.jobs import A100, H100, bones, fine_tune, job

OPEN = {"training.layout": "auto", "training.micro_batch": "auto"}


def test_a_batch_of_candidates_equals_the_same_candidates_one_by_one() -> None:
    each = scenario(job().changed(OPEN))
    pool, c = candidates(each), constants()
    together = evaluated(pool, c)
    for index in range(0, pool.batch.size, 7):
        alone = evaluated(
            type(pool)(
                scenario=each, batch=single(pool.configuration(index), each), grid={}, reasons={}
            ),
            c,
        )
        assert together.seconds[index] == pytest.approx(float(alone.seconds[0]), rel=1e-9)
        assert together.peak[index] == pytest.approx(float(alone.peak[0]), rel=1e-9)


def test_the_choice_is_the_fastest_of_those_that_surely_fit_beyond_the_margins() -> None:
    run = job().changed(OPEN)
    each = scenario(run)
    pool = candidates(each)
    spread = memory_spread(memory_doubts(pool.configuration(0), each.stack))
    found = evaluated(pool, constants())
    sure = spread.high_of(found.peak) <= found.capacity
    margins = complications(pool.batch) + unusual_loss(pool)
    worth = found.seconds / rows(pool.batch) * (1 + margins)
    chosen = bones(run)
    assert chosen.fit_probability >= SURE
    made = chosen.step.seconds / chosen.configuration.global_batch
    assert made <= worth[sure].min() * (1 + 1e-9)


def test_fastest_means_through_the_data_where_the_batch_is_not_stated() -> None:
    run = job(
        "gpt2-124m",
        training__layout="auto",
        training__global_batch="auto",
        data__seq_len=1024,
        training__micro_batch=12,
        training__accumulation=5,
        training__recompute="none",
        hardware__count=8,
    )
    assert plan(run).chosen["layout"]["dp"] == 8


@pytest.mark.parametrize("model", ["gpt2-124m", "bert-large", "vit-base"])
def test_a_model_that_fits_on_each_device_is_neither_split_nor_sharded(model: str) -> None:
    run = job(
        model,
        data__samples=10**6,
        data__seq_len=None if model == "vit-base" else 512,
        hardware__sku=A100,
        hardware__count=8,
        training__layout="auto",
        training__micro_batch="auto",
        training__global_batch="auto",
        training__recompute="none",
    )
    layout = plan(run).chosen["layout"]
    assert {name: layout[name] for name in ("tp", "pp", "cp", "ep", "sharding")} == {
        "tp": 1,
        "pp": 1,
        "cp": 1,
        "ep": 1,
        "sharding": "none",
    }


def test_tensor_parallelism_stays_inside_a_node() -> None:
    run = job("llama-3.1-405b", hardware__count=1024).changed(OPEN)
    chosen = plan(run).chosen
    assert 1 < chosen["layout"]["tp"] <= chosen["per_node"]


def test_experts_are_spread_only_where_there_are_some() -> None:
    assert (
        plan(job("mixtral-8x7b", training__stack="megatron").changed(OPEN)).chosen["layout"]["ep"]
        > 1
    )
    assert plan(job().changed(OPEN)).chosen["layout"]["ep"] == 1


def test_one_device_shards_nothing() -> None:
    assert plan(fine_tune()).chosen["layout"]["sharding"] == "none"


def test_what_was_chosen_is_named() -> None:
    chosen = plan(fine_tune()).chosen
    assert set(chosen["by_planner"]) >= {"layout", "micro_batch", "global_batch", "stack"}
    assert chosen["reasons"]["global_batch"]


@settings(max_examples=25)
@given(st.integers(0, 11), st.sampled_from([512, 1024, 2048, 4096, 8192]))
def test_the_usual_global_batch_splits_over_the_devices(power: int, seq_len: int) -> None:
    count = 1 << power
    run = job(
        hardware__count=count,
        data__seq_len=seq_len,
        training__layout="auto",
        training__global_batch="auto",
        training__micro_batch="auto",
    )
    chosen = bones(run).configuration
    assert chosen.micro_batch * chosen.accumulation * chosen.dp == chosen.global_batch
    assert np.log2(chosen.global_batch) % 1 == 0


ADAPTERS = {"hardware__sku": "rtx-4090", "training__task": "lora", "data__seq_len": 4096}


def test_a_loss_left_open_is_the_one_that_fits_of_what_the_stack_offers() -> None:
    made = plan(fine_tune("qwen3-8b", **ADAPTERS, training__recompute="full"))
    stated = plan(
        fine_tune("qwen3-8b", **ADAPTERS, training__recompute="full", training__loss="eager")
    )
    assert (made.fits, stated.fits) == (True, False)
    assert made.chosen["loss"] == "chunked"
    assert "use_liger_kernel=True" in made.chosen["reasons"]["loss"]


def test_the_usual_loss_stays_where_another_saves_less_than_the_models_error() -> None:
    made = plan(fine_tune("qwen3-8b", training__task="lora", hardware__sku=H100))
    assert (made.chosen["loss"], made.fits) == ("eager", True)
    assert "loss" not in made.chosen["reasons"]


def test_a_stack_offers_no_loss_that_its_models_lack() -> None:
    each = scenario(fine_tune("gpt2-xl", training__task="lora"))
    assert (each.stack.name, offered(each)) == ("hf-trainer", ["eager"])


def test_every_offered_loss_is_of_a_known_stack_and_names_its_source() -> None:
    table = tomllib.loads(FILE.read_text())
    families = table.pop("families")
    for name, words in table.items():
        for word, row in words.items():
            assert stack(name).loss != word
            assert word in LOSSES
            assert row["models"] in ("", *families)
            assert row["switch"]
            assert "(read 20" in row["source"]
