"""What a run of a traced module may say: refused by name where no trace answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.table import TRACED_AS
from planner.errors import PlannerError

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.engine.table import Table
    from planner.run import Run
    from planner.stacks import Stack

STACK = "pytorch-fsdp"  # plain torch scripts
SAMPLES = 256  # of a step where the run says none: Goyal et al. 2017, section 5.1
MOST_MICRO_BATCH = 1024  # samples
OPTIMIZERS = (
    "adamw",
    "adamw-foreach",
    "adamw-fused",
    "adamw8bit",
    "lion",
    "sgd",
    "sgd-momentum",
    "none",
)
_DEGREES = {
    "tp": "tensor",
    "pp": "pipeline",
    "cp": "context",
    "ep": "expert",
}


def check_traced(run: Run, model: Model) -> None:
    """Refuse what a trace does not tell. Raises PlannerError with the remedy."""
    assert model.table is not None
    _check_data(run, model)
    _check_layout(run)
    _check_words(run)
    precision = run.training.precision
    if precision not in TRACED_AS:
        known = ", ".join(TRACED_AS)
        remedy = f"a traced module is planned in {known}: its products were not traced in others"
        raise PlannerError("training.precision", precision, remedy)
    if not model.table.has(precision):
        remedy = f"{model.name} was not traced in it: plan it with this precision from the start"
        raise PlannerError("training.precision", precision, remedy)


def _check_data(run: Run, model: Model) -> None:
    data = run.data
    unknown = {
        "tokens": (data.tokens, "say data.samples, or data.epochs with data.dataset_samples"),
        "dataset_tokens": (data.dataset_tokens, "say data.dataset_samples"),
        "unique_tokens": (data.unique_tokens, "say data.epochs with data.dataset_samples"),
        "seq_len": (data.seq_len, "say data.input_shape"),
        "lengths": (data.lengths, "every sample has the shape data.input_shape"),
    }
    for name, (value, remedy) in unknown.items():
        if value is not None:
            remedy = f"{model.name} is a traced module, which knows samples, not tokens: {remedy}"
            raise PlannerError(f"data.{name}", value, remedy)


def _check_layout(run: Run) -> None:
    layout = run.training.layout
    for name, word in _DEGREES.items():
        if layout and getattr(layout, name) > 1:
            remedy = f"{word} parallelism of a traced module is not known: use 1, or sharding zero3"
            raise PlannerError(f"training.layout.{name}", getattr(layout, name), remedy)
    if layout and layout.sharding in ("hsdp", "layer-split"):
        remedy = "a traced module is planned with none, zero1, zero2 or zero3"
        raise PlannerError("training.layout.sharding", layout.sharding, remedy)


def _check_words(run: Run) -> None:
    training = run.training
    if training.task not in ("pretrain", "full-ft"):
        remedy = "a traced module is planned for pretrain or full-ft"
        raise PlannerError("training.task", training.task, remedy)
    if training.recompute == "selective":
        remedy = "a traced module is planned with none or full"
        raise PlannerError("training.recompute", training.recompute, remedy)
    if training.attention != "flash":
        remedy = "the module's own code decides how attention runs: leave it out"
        raise PlannerError("training.attention", training.attention, remedy)
    if training.optimizer not in OPTIMIZERS:
        remedy = f"its states depend on the tensors' shapes: use {', '.join(OPTIMIZERS)}"
        raise PlannerError("training.optimizer", training.optimizer, remedy)


def check_stack(found: Stack) -> None:
    """A trace runs FP32 weights under autocast: refuse stacks that keep other weights."""
    plain = found.precision in ("pure-bf16", "fp32", "tf32") or found.param_bytes == 4
    if not plain or found.launch in ("xla", "native"):
        remedy = "a traced module is planned as plain torch under autocast: use pytorch"
        raise PlannerError("training.stack", found.name, remedy)


def attends(table: Table) -> bool:
    """Whether the module has attention kernels."""
    return any(work.attention for work in table.works.values())
