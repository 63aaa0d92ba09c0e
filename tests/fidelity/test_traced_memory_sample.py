"""The committed table of traced memory reproduces, and agrees with torch's real allocator."""

from __future__ import annotations

import statistics
from dataclasses import asdict, replace

import pytest

from benchmarks.memory_truth import grid, residuals, saved, table
from benchmarks.memory_truth.case import Case

torch = pytest.importorskip("torch", reason="tracing needs torch")

SAMPLE = ("small/layers=2", "autocast/recompute=full", "lora/layers=2")
TINY = Case(
    id="tiny",
    layers=3,
    hidden=256,
    heads=4,
    kv_heads=2,
    head_dim=64,
    ffn_hidden=704,
    vocab=4096,
    seq_len=256,
    micro_batch=2,
)


@pytest.fixture(scope="module")
def rows() -> dict[str, tuple[Case, dict[str, int | str]]]:
    return {case.id: (case, measured) for case, measured in table.read()}


@pytest.mark.parametrize("case_id", SAMPLE)
def test_a_committed_row_traces_to_the_same_bytes(case_id, rows):
    from benchmarks.memory_truth.trace import trace

    case, measured = rows[case_id]
    if not torch.__version__.startswith(str(measured["torch_version"])):
        pytest.skip(f"the row was traced with torch {measured['torch_version']}")
    traced = asdict(trace(case))
    assert traced == {name: measured[name] for name in traced}


def test_the_table_has_every_case_of_the_grid(rows):
    assert [case for case, _ in rows.values()] == list(grid.cases())


def test_our_tracker_and_torchs_see_the_same_peak(rows):
    for _, measured in rows.values():
        assert measured["peak_bytes"] == pytest.approx(measured["mem_tracker_peak_bytes"], rel=1e-3)


def test_a_layer_keeps_what_one_more_layer_adds():
    from benchmarks.memory_truth.trace import trace

    three, four = trace(TINY), trace(replace(TINY, layers=4))
    added = four.peak_forward_bytes - three.peak_forward_bytes
    states = four.param_bytes + four.optimizer_bytes - three.param_bytes - three.optimizer_bytes
    assert added - states == three.saved_activation_bytes_per_layer


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "eager"},
        {"loss": "chunked", "recompute": "full"},
        {"norm": "layernorm", "mlp_kind": "gelu", "vocab": 64, "optimizer": "sgd"},
        {"precision": "bf16-autocast", "norm": "rmsnorm-eager", "vocab": 64, "optimizer": "sgd"},
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
def test_a_really_computed_step_allocates_what_the_trace_says(settings):
    from benchmarks.memory_truth import allocator
    from benchmarks.memory_truth.trace import trace

    case = replace(TINY, **settings)
    assert trace(case).peak_bytes == pytest.approx(allocator.peak_bytes(case), rel=0.02)


def test_eager_attention_with_dropout_keeps_what_korthikanti_counted(rows):
    case, measured = rows["gpt3-small-korthikanti"]
    published = 34 * case.hidden + 5 * case.heads * case.seq_len  # bytes per token, 16 bit
    per_token = int(measured["saved_activation_bytes_per_layer"]) / case.tokens
    assert per_token == pytest.approx(published, rel=1e-3)


@pytest.mark.parametrize("column", residuals.FORMS)
def test_the_closed_forms_stay_within_their_stated_error(column, rows):
    sizes = sorted(abs(error) for error in residuals.errors(rows.values())[column].values())
    assert statistics.median(sizes) < 0.001
    assert sizes[int(0.9 * (len(sizes) - 1))] < 0.015
    assert sizes[-1] < 0.07


@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_compiled_layer_keeps_what_the_closed_form_says(number):
    from benchmarks.memory_truth import compiled

    case = replace(compiled.BASE, **compiled.SETTINGS[number])
    kept = sum(size for _, size in compiled.kept_tensors(case)) / case.tokens
    assert kept == pytest.approx(saved.compiled_bytes_per_token(case), rel=0.001)


def test_a_case_that_contradicts_itself_is_refused_by_name():
    with pytest.raises(ValueError, match="tiny: loss = 'egaer'"):
        replace(TINY, loss="egaer")
    with pytest.raises(ValueError, match="3 heads do not share 2 kv_heads"):
        replace(TINY, heads=3)
    with pytest.raises(ValueError, match="either ffn_hidden or n_experts"):
        replace(TINY, ffn_hidden=0)
