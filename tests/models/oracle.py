"""The reference implementation, built on meta tensors, as the judge of our counts."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from planner.engine.model import Model


def build(model_type: str, auto_class: str, **dimensions: Any) -> tuple[Any, dict[str, Any]]:
    """The reference module without storage, and the config.json content that describes it."""
    import torch
    import transformers

    config = transformers.AutoConfig.for_model(model_type, **dimensions)
    with torch.device("meta"):
        module = getattr(transformers, auto_class).from_config(config)
    content = config.to_dict()
    content["architectures"] = [type(module).__name__]
    return module, content


def total(module: Any) -> int:
    """Distinct parameters: a tied matrix once."""
    return sum(parameter.numel() for parameter in module.parameters())


def linear_modules(module: Any) -> Counter[tuple[str, int, int]]:
    """Name, inputs and outputs of every linear module except the output layer."""
    import torch
    from transformers.pytorch_utils import Conv1D

    found: Counter[tuple[str, int, int]] = Counter()
    output = module.get_output_embeddings()
    for name, part in module.named_modules():
        if part is output:
            continue
        last = name.rsplit(".", 1)[-1]
        if isinstance(part, torch.nn.Linear):
            found[last, part.in_features, part.out_features] += 1
        elif isinstance(part, Conv1D):
            found[last, part.nx, part.nf] += 1
    return found


def our_linear_modules(model: Model) -> Counter[tuple[str, int, int]]:
    found: Counter[tuple[str, int, int]] = Counter()
    for block in model.blocks:
        for matrix in block.matrices:
            if matrix.linear:
                found[matrix.name, matrix.inputs, matrix.outputs] += matrix.count * block.count
    for matrix in model.matrices:
        if matrix.linear and not (matrix.role == "head" and model.vocab == matrix.outputs):
            found[matrix.name, matrix.inputs, matrix.outputs] += matrix.count
    return found


def even(rng: random.Random, low: int, high: int) -> int:
    return 2 * rng.randint(low // 2, high // 2)
