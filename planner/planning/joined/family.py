"""Models of other sizes built like a given one: its shape grown in width and depth together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.engine.model import Block, Matrix, Model
from planner.errors import PlannerError
from planner.models.parts import params_of

STEP = 1.15  # of the scale of width and depth from one size to the next: 1.5 times the parameters
APART = 1.25  # times the parameters, at least, between two neighbours
WIDTH_UNIT = 64  # elements: feed-forward and other free widths are whole multiples
ROUNDING = ((32, 8), (8, 4))  # above so many heads, multiples of so many, as published models have
DEPTH_ROUNDING = ((16, 4), (8, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All sizes of one architecture. Kept from `base`: the size of a head, key-value heads, the
    ratio of feed-forward to hidden, vocabulary, experts, windows, and hidden size over layers.

    Published families keep that last ratio too: 102 to 130 from Llama 3.2 1B to Llama 3.1 405B.
    """

    base: Model

    def __post_init__(self) -> None:
        _refuse_unknown_shapes(self.base)

    def member(self, scale: float) -> Model:
        """The model with about `scale` times the width and the depth; 1 gives `base` itself."""
        if scale == 1:
            return self.base
        first = self.base.blocks[0]
        heads = _rounded(first.heads * scale, ROUNDING)
        ratio = heads / first.heads
        hidden = _hidden(self.base, first, heads, ratio)
        blocks = tuple(
            _block(block, self.base.hidden, hidden, ratio, scale) for block in self.base.blocks
        )
        return _model(self.base, blocks, hidden)

    def members(self, low: float, high: float) -> list[Model]:
        """Sizes from `low` to `high` parameters a token uses, rising, about 1.5 times the one
        before; `base` among them where it lies inside. At least the one nearest to each end."""
        found: list[Model] = []
        step = _first_step(self.base.params_active, low)
        while not found or found[-1].params_active < high:
            model = self.base if step == 0 else self.member(STEP**step)
            step += 1
            last = found[-1].params_active if found else 0
            if model.params_active < low / APART:
                continue
            if model.params_active >= last * APART:
                found.append(model)
            elif model is self.base:
                found[-1] = model
        return found


def _first_step(here: float, wanted: float) -> int:
    """A step at or below the size wanted: parameters grow at least as the scale itself, since the
    embeddings, which may outweigh the layers, do."""
    return min(math.floor(math.log(wanted / here) / math.log(STEP)), 0)


def _refuse_unknown_shapes(model: Model) -> None:
    """Only decoders whose every width is understood can be built in another size."""
    for block in model.blocks:
        odd = block.state_space or block.cross_attention or block.expert_input
        summed = block.attention_params == params_of(block.matrices, "attention")
        if model.kind != "decoder" or odd or not summed or _strange(block, model.hidden):
            remedy = "other sizes of this architecture cannot be built: use one like llama-3-8b"
            raise PlannerError("model", model.name, remedy)


def _strange(block: Block, hidden: int) -> bool:
    """Whether a matrix has a width that is none of those that we know how to scale or keep."""
    known = set(_widths(block, hidden)) | _fixed(block)
    return any({matrix.inputs, matrix.outputs} - known for matrix in block.matrices)


def _widths(block: Block, hidden: int) -> tuple[int, ...]:
    """Every width of a layer that grows with the model, in a fixed order."""
    heads, kv = block.heads, block.kv_heads
    nope = block.head_dim - block.rope_head_dim
    values = block.v_head_dim or block.head_dim
    return (
        hidden,
        heads * block.head_dim,
        kv * block.head_dim,
        kv * values,
        (heads + 2 * kv) * block.head_dim,
        heads * (nope + values),  # latent attention: keys without their rotary part, and values
        heads * values,
        block.ffn_hidden,
        2 * block.ffn_hidden,
        block.expert_hidden,
        2 * block.expert_hidden,
        block.shared_hidden,
        2 * block.shared_hidden,
    )


def _fixed(block: Block) -> set[int]:
    """Widths that stay: ranks of latent attention, one row a routed expert, gates."""
    latent = block.kv_lora_rank + block.rope_head_dim
    return {block.q_lora_rank, block.kv_lora_rank, latent, block.num_experts, 1}


def _hidden(model: Model, first: Block, heads: int, ratio: float) -> int:
    if model.hidden == first.heads * first.head_dim:
        return heads * first.head_dim
    return _wide(model.hidden, ratio)


def _block(block: Block, old_hidden: int, hidden: int, ratio: float, scale: float) -> Block:
    heads = _rounded(block.heads * ratio, ROUNDING)
    kv_heads = heads if block.kv_heads == block.heads else _divisor(heads, block.kv_heads)
    sized = replace(
        block,
        count=_rounded(block.count * scale, DEPTH_ROUNDING),
        heads=heads,
        kv_heads=kv_heads,
        ffn_hidden=_wide(block.ffn_hidden, ratio),
        expert_hidden=_wide(block.expert_hidden, ratio),
        shared_hidden=_wide(block.shared_hidden, ratio),
        norm_params=round(block.norm_params * hidden / old_hidden),
    )
    old, new, fixed = _widths(block, old_hidden), _widths(sized, hidden), _fixed(block)
    matrices = tuple(_matrix(each, old, new, fixed) for each in block.matrices)
    return replace(
        sized,
        matrices=matrices,
        attention_params=params_of(matrices, "attention"),
        ffn_params=params_of(matrices, "ffn"),
        expert_params=params_of(matrices, "expert"),
        shared_params=params_of(matrices, "shared"),
        router_params=params_of(matrices, "router"),
    )


def _matrix(matrix: Matrix, old: tuple[int, ...], new: tuple[int, ...], fixed: set[int]) -> Matrix:
    def grown(width: int) -> int:
        return new[old.index(width)] if width in old else width

    return replace(matrix, inputs=grown(matrix.inputs), outputs=grown(matrix.outputs))


def _model(base: Model, blocks: tuple[Block, ...], hidden: int) -> Model:
    def outside(params: int) -> int:
        return round(params * hidden / base.hidden)

    matrices = tuple(
        replace(
            each,
            inputs=hidden if each.inputs == base.hidden else each.inputs,
            outputs=hidden if each.outputs == base.hidden else each.outputs,
        )
        for each in base.matrices
    )
    layers = sum(block.count for block in blocks)
    return replace(
        base,
        name=f"{base.name} as {layers} x {hidden}",
        hidden=hidden,
        blocks=blocks,
        input_embedding_params=outside(base.input_embedding_params),
        position_params=outside(base.position_params),
        head_params=outside(base.head_params),
        final_params=outside(base.final_params),
        matrices=matrices,
    )


def _wide(width: int, ratio: float) -> int:
    """A free width in whole units; 0 stays 0."""
    return max(round(width * ratio / WIDTH_UNIT), 1) * WIDTH_UNIT if width else 0


def _rounded(number: float, rounding: tuple[tuple[int, int], ...]) -> int:
    """A whole number, a multiple of what is usual at that size, at least 1.

    >>> _rounded(35.0, ROUNDING), _rounded(9.7, ROUNDING), _rounded(0.2, ROUNDING)
    (32, 8, 1)
    """
    unit = next((unit for above, unit in rounding if number > above), 1)
    return max(round(number / unit) * unit, 1)


def _divisor(heads: int, most: int) -> int:
    """The largest number of key-value heads up to `most` that divides the heads."""
    return next(each for each in range(min(heads, most), 0, -1) if heads % each == 0)
