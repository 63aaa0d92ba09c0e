"""Low-rank adapters: how many parameters they train."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planner.engine.model import Matrix, Model
from planner.errors import PlannerError, nearest

_GROUPS = {
    "all-linear": ("attention", "ffn", "shared", "router", "other"),
    "attention": ("attention",),
    "mlp": ("ffn", "shared"),
}
_EMBEDDING = ("embedding", "embed", "embed_tokens", "wte", "word_embeddings", "shared")
_HEAD = ("head", "lm_head", "score", "classifier", "embed_out", "output")
_NORM = ("norm", "norms")
_MAX_RANK = 2**16

Targets = str | Sequence[str]


def lora_params(
    model: Model, rank: int, targets: Targets = "all-linear", trainable: Sequence[str] = ()
) -> int:
    """Parameters that a LoRA run trains: r·(in + out) for each adapted matrix, and whole modules.

    `targets` is `all-linear` (every linear module except the output layer, as peft takes it),
    `attention`, `mlp`, `experts` (stacked routed experts, each with its own adapter; all-linear
    leaves them out because they are no linear modules), a list of module names such as
    `["q_proj", "v_proj"]` or `["q", "v"]`, or such names with commas. `trainable` names modules
    that train whole beside the adapters: `embedding`, `head`, `norm` (with the small tensors
    counted there), or a linear module. A tied matrix named as embedding and as head is trained,
    so counted, twice: peft keeps a copy for each.

    Source: Hu et al. 2021 (arXiv 2106.09685), section 4.1. Raises PlannerError for an unknown
    name, or when nothing matches.

    >>> from planner.models import load_model
    >>> lora_params(load_model("llama-2-7b"), 8, ["q_proj", "v_proj"])
    4194304
    """
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= _MAX_RANK:
        raise PlannerError("lora.rank", rank, f"must be a whole number from 1 to {_MAX_RANK}")
    adapters = sum(
        layers * matrix.count * rank * (matrix.inputs + matrix.outputs)
        for layers, matrix in adapted_matrices(model, targets)
    )
    if not adapters:
        raise PlannerError("lora.targets", targets, f"{model.name} has no such matrices")
    return adapters + sum(_whole_module(model, name) for name in trainable)


def adapted_matrices(model: Model, targets: Targets) -> Iterator[tuple[int, Matrix]]:
    """The matrices that `targets` names, each with the number of layers that hold it."""
    words = _words(targets)
    names = set(linear_names(model))
    for word in words:
        known = word in names or f"{word}_proj" in names
        if not known and word not in _GROUPS and word != "experts":
            raise PlannerError("lora.targets", word, _known(word, names))
    for layers, matrix in all_matrices(model):
        if any(_matches(matrix, word) for word in words):
            yield layers, matrix


def all_matrices(model: Model) -> Iterator[tuple[int, Matrix]]:
    """Every matrix of the model with the number of layers that hold it (1 outside the layers)."""
    for block in model.blocks:
        for matrix in block.matrices:
            yield block.count, matrix
    for matrix in model.matrices:
        yield 1, matrix


def linear_names(model: Model) -> list[str]:
    """Names of the model's linear modules, in alphabetical order."""
    return sorted({matrix.name for _, matrix in all_matrices(model) if matrix.linear})


def _words(targets: Targets) -> list[str]:
    given: Iterable[object] = targets.split(",") if isinstance(targets, str) else targets
    words = [word.strip() if isinstance(word, str) else word for word in given]
    for word in words:
        if not isinstance(word, str) or not word:
            raise PlannerError("lora.targets", word, "must be all-linear, attention or names")
    return [word for word in words if isinstance(word, str)]


def _matches(matrix: Matrix, word: str) -> bool:
    if word == "experts":
        return matrix.role == "expert"
    if word in _GROUPS:
        return matrix.linear and matrix.role in _GROUPS[word]
    return matrix.linear and matrix.name in (word, f"{word}_proj")


def _whole_module(model: Model, name: str) -> int:
    if name in _EMBEDDING:
        return model.input_embedding_params
    if name in _NORM:
        return _norms(model)
    found = [
        layers * matrix.params
        for layers, matrix in all_matrices(model)
        if matrix.name == name or (name in _HEAD and matrix.role == "head")
    ]
    if not found:
        known = {"embedding", "head", "norm", *linear_names(model)}
        raise PlannerError("lora.trainable", name, _known(name, known))
    return sum(found)


def _norms(model: Model) -> int:
    if model.kind != "decoder":
        raise PlannerError("lora.trainable", "norm", f"is not known for a {model.kind}")
    outside = sum(matrix.params for matrix in model.matrices if matrix.role == "other")
    layers = sum(block.count * block.norm_params for block in model.blocks)
    return layers + model.final_params - outside


def _known(word: str, names: Iterable[str]) -> str:
    choices = sorted({*names})
    near = nearest(word, choices, count=1)
    guess = f"did you mean {near[0]}? " if near else ""
    return f"{guess}known: {', '.join(choices)}"
