"""Published rows as configurations, against rows read by hand."""

from __future__ import annotations

from collections import Counter
from time import process_time

import pytest

from planner.engine.configuration import Configuration
from planner.engine.model import Block
from planner.fidelity.case import Case, Refusal
from planner.fidelity.infer import load_cases
from planner.fidelity.notes import parse_notes


@pytest.fixture(scope="module")
def loaded() -> tuple[list[Case], list[Refusal]]:
    return load_cases()


@pytest.fixture(scope="module")
def by_id(loaded: tuple[list[Case], list[Refusal]]) -> dict[str, Case]:
    return {case.id: case for case in loaded[0]}


def test_all_rows_are_read_in_two_seconds_of_processor() -> None:
    start = process_time()
    load_cases()
    assert process_time() - start < 2


def test_only_rows_that_no_public_config_can_complete_are_refused(
    loaded: tuple[list[Case], list[Refusal]],
) -> None:
    refused = Counter(refusal.kind for refusal in loaded[1])
    assert refused == {"rate-only": 7, "time": 2}
    assert {refusal.reason.split(":")[0] for refusal in loaded[1]} == {"model_name"}


def test_every_row_is_a_case_or_a_refusal(loaded: tuple[list[Case], list[Refusal]]) -> None:
    cases, refusals = loaded
    assert len({case.id for case in cases} | {refusal.id for refusal in refusals}) == 2960


def test_the_measurements_add_up_to_what_the_table_holds(
    loaded: tuple[list[Case], list[Refusal]],
) -> None:
    cases = loaded[0]
    assert sum(case.actual_seconds is not None for case in cases) == 2705 - 2
    assert sum(case.actual_peak_bytes is not None for case in cases) == 248
    assert sum(case.oom for case in cases) == 18


def test_degrees_multiply_to_the_devices_of_every_case(
    loaded: tuple[list[Case], list[Refusal]],
) -> None:
    for case in loaded[0]:
        run = case.configuration
        assert run.tp * run.pp * run.cp * run.dp == run.num_devices, case.id
        assert (run.dp * run.cp * run.tp) % run.ep == 0, case.id
        assert run.interleave == 1 or run.pp > 1, case.id
        assert run.model.params_total > 1e8, case.id


def test_the_step_holds_the_tokens_that_the_published_rate_implies(
    loaded: tuple[list[Case], list[Refusal]],
) -> None:
    assert not [case.id for case in loaded[0] if any("disagree" in note for note in case.notes)]


def test_both_mosaicml_tables_are_one_group(by_id: dict[str, Case]) -> None:
    assert by_id["llmfoundry-0001"].group == by_id["mosaicex-0001"].group == "mosaicml"
    assert by_id["llmfoundry-0001"].traits.flash == "fa1"
    assert by_id["mosaicex-0001"].traits.flash == "fa1"


def test_vtrain_is_megatron_of_2021_without_flash_attention(by_id: dict[str, Case]) -> None:
    run = by_id["vtrain-0619"].configuration
    assert (run.tp, run.pp, run.dp, run.micro_batch, run.accumulation) == (2, 2, 2, 2, 4)
    assert (run.stack, run.attention, run.recompute) == ("megatron-2021", "sdpa-math", "full")
    assert run.network_bytes_per_second == 800e9 / 8 / 8  # "inter-node 800 Gb/s" for eight GPUs
    assert run.model.vocab == 50432  # 50257 padded to a multiple of 128 · tp


def test_a_bridge_row_has_its_virtual_stages_and_recipe(by_id: dict[str, Case]) -> None:
    case = by_id["bridge-0040"]
    assert case.configuration.interleave == 8
    assert case.traits.fp8_recipe == "mxfp8"
    assert (case.traits.cuda_graphs, case.traits.dispatcher) == ("full", "hybridep")
    assert case.configuration.model.layers == 62  # 61 and one multi-token-prediction layer
    assert by_id["bridge-0239"].configuration.model.layers == 61  # "w/o MTP"
    assert by_id["bridge-0134"].traits.cuda_graphs == "none"  # the release before


def test_a_variant_in_brackets_has_the_virtual_stages_in_brackets(by_id: dict[str, Case]) -> None:
    assert by_id["bridge-0268"].configuration.interleave == 1  # VP=1 (5), main number
    assert by_id["bridge-0269"].configuration.interleave == 5
    assert by_id["bridge-0269"].traits.fp8_recipe == "mxfp8"


@pytest.mark.parametrize(
    ("name", "accumulation"), [("bridge-0242", 64), ("bridge-0263", 8), ("bridge-0269", 8)]
)
def test_a_global_batch_that_does_not_multiply_out_wins(
    by_id: dict[str, Case], name: str, accumulation: int
) -> None:
    case = by_id[name]
    assert case.configuration.accumulation == accumulation
    assert "grad_accum" in case.inferred
    assert case.notes


def test_hybrids_have_the_published_number_of_parameters(by_id: dict[str, Case]) -> None:
    nano = by_id["bridge-0027"].configuration.model
    assert round(nano.params_total / 1e9, 1) == 31.6
    assert round(nano.params_active / 1e9, 1) == 3.6
    # header of the published weights: 123,611,012,096 with 2,942,324,736 in one prediction layer
    model = by_id["bridge-0013"].configuration.model
    predicting = model.blocks[-1]
    total = model.params_total - predicting.count * predicting.params
    assert abs(total - (123_611_012_096 - 2_942_324_736)) < 1e-4 * total
    assert abs(predicting.params / 2_942_324_736 - 1) < 0.02


@pytest.mark.parametrize(
    "name", ["bridge-0234", "bridge-0040", "bridge-0239", "bridge-0013", "bridge-0007"]
)
def test_flops_are_those_behind_the_published_tflops(by_id: dict[str, Case], name: str) -> None:
    """Bridge counts 6 per active parameter, the causal half of attention, and prediction."""
    case = by_id[name]
    run, model = case.configuration, case.configuration.model
    attention = sum(
        3 * block.count * block.heads * (block.head_dim + block.v_head_dim) * _seen(run, block)
        for block in model.blocks
    )
    gated = 3 if model.blocks[-1].gated else 2
    output = sum(  # of prediction layers, whose expert's width stands for the output matrix
        gated * block.count * block.shared_hidden * model.hidden - block.count * block.shared_params
        for block in model.blocks
    )
    per_token = 6 * (model.params_active_without_input_embedding + output) + attention
    assert case.actual_seconds is not None
    assert case.tflops_per_device is not None
    rate = run.tokens_per_step / run.num_devices / case.actual_seconds
    assert case.tflops_per_device * 1e12 / rate == pytest.approx(per_token, rel=0.02)


def _seen(run: Configuration, block: Block) -> int:
    return min(run.seq_len, block.window or run.seq_len)


def test_deepseek_layers_cut_for_a_test_keep_one_dense_layer(by_id: dict[str, Case]) -> None:
    model = by_id["simumax-0023"].configuration.model
    assert [block.count for block in model.blocks] == [1, 3]
    assert abs(model.params_total / 36.953e9 - 1) < 1e-3
    assert by_id["simumax-0023"].traits.reserved_bytes == 110.18 * 2**30


def test_trainable_counts_are_those_that_the_source_prints(by_id: dict[str, Case]) -> None:
    assert by_id["litgpt-0095"].configuration.trainable_params == 4_194_304
    # Qwen-7B with rank 8 on c_attn: 4.19 M, as 1.05 M at rank 2 and 33.55 M at rank 64
    assert by_id["swift-0001"].configuration.trainable_params == 4_194_304
    assert by_id["swift-0001"].configuration.lora_rank == 8
    assert by_id["swift-0088"].configuration.lora_rank == 64


def test_units_of_peaks_are_those_of_the_source(by_id: dict[str, Case]) -> None:
    assert by_id["swift-0001"].actual_peak_bytes == 27.74 * 2**30
    assert by_id["torchtune-0025"].actual_peak_bytes == 24.1e9  # "source GB"
    assert by_id["swift-0001"].meter == "reserved"
    assert by_id["litgpt-0095"].meter == "allocated"


def test_unpacked_samples_give_one_case_for_time_and_one_for_memory(
    loaded: tuple[list[Case], list[Refusal]],
) -> None:
    time, memory = (case for case in loaded[0] if case.id == "torchtune-0009")
    assert (time.kind, memory.kind) == ("time", "memory")
    assert time.configuration.seq_len < memory.configuration.seq_len <= 4096
    # two samples of 112 real tokens at 2,091 tokens a second
    assert time.actual_seconds == pytest.approx(2 * 112 / 2091)


def test_settings_come_from_the_script_that_made_the_run(by_id: dict[str, Case]) -> None:
    """examples/megatron/base_to_chat.sh and moe/qwen3_moe.sh of ms-swift."""
    dense, sparse = (by_id[name].configuration for name in ("swiftmeg-0001", "swiftmeg-0004"))
    assert (dense.stack, dense.tp, dense.global_batch, dense.recompute) == (
        "megatron",
        4,
        16,
        "selective",
    )
    assert (sparse.pp, sparse.ep, sparse.dp, sparse.recompute) == (2, 8, 8, "full")


def test_paged_and_fused_optimizers_are_told_apart(by_id: dict[str, Case]) -> None:
    """torchtune: paged 8-bit Adam on one device, released gradients only in one recipe."""
    first, second, ladder = (by_id[f"torchtune-000{n}"].traits for n in (1, 2, 9))
    assert (first.paged_optimizer, first.optimizer_in_backward) == (True, True)
    assert (second.paged_optimizer, second.optimizer_in_backward) == (True, False)
    assert not ladder.paged_optimizer


def test_sharded_litgpt_runs_hold_the_whole_weights_once(by_id: dict[str, Case]) -> None:
    assert by_id["litgpt-0095"].traits.full_weights_at_load
    assert not by_id["litgpt-0064"].traits.full_weights_at_load


def test_layers_split_over_devices_stand_as_pipeline_stages(by_id: dict[str, Case]) -> None:
    run = by_id["swift-0009"].configuration
    assert (run.sharding, run.pp, run.dp) == ("layer-split", 2, 1)


def test_runs_that_the_source_calls_single_device_are_single_device(by_id: dict[str, Case]) -> None:
    assert by_id["litgpt-0002"].configuration.num_devices == 1
    assert "n_gpus" in by_id["litgpt-0002"].inferred


def test_peft_trains_in_fp32_as_its_library_loads(by_id: dict[str, Case]) -> None:
    run = by_id["misc-0002"].configuration
    assert (run.precision, run.micro_batch, run.seq_len) == ("fp32", 8, 64)
    assert round(run.model.params_total / 1e9, 2) == 2.85


def test_jax_counts_the_micro_batch_per_device(by_id: dict[str, Case]) -> None:
    run = by_id["maxtext_levanter-0031"].configuration
    assert (run.tp, run.micro_batch, run.accumulation, run.global_batch) == (4, 24, 1, 384)
    assert round(run.model.params_total / 1e9, 1) == 32.7


def test_rates_alone_are_kept_apart(by_id: dict[str, Case]) -> None:
    case = by_id["maxtext_levanter-0001"]
    assert case.kind == "rate-only"
    assert case.tflops_per_device == 156
    assert case.mfu == pytest.approx(0.567)


@pytest.mark.parametrize(
    ("text", "stages"),
    [("VP=n/a; x", 1), ("VP=12", 12), ("VP=1 (5)", 1), ("VP=; y", None), ("1F1B", 1), ("", None)],
)
def test_virtual_stages_are_read_as_written(text: str, stages: int | None) -> None:
    assert parse_notes(text).interleave == stages


def test_chips_of_a_slice_are_half_its_cores_except_on_v5e() -> None:
    assert parse_notes("2x v5p-128 (chips = cores/2)").chips_per_slice == 64
    assert parse_notes("4x v5e-256; DCN between slices").chips_per_slice == 256
