"""`forerun profile --model`: real training steps of a model, and the largest micro-batch."""

from __future__ import annotations

import argparse
import dataclasses
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from planner.quantities import COUNT, SEQUENCE, read_whole
from profiles.command import Answer, opened, seconds_of
from profiles.modules import is_module_name, make_module, module_step, parameter_count

if TYPE_CHECKING:
    from planner.engine.model import Block, Model
    from profiles.device import Device
    from profiles.training import TrainingStep
    from profiles.transformer import Dimensions

Maker = Callable[[int], "TrainingStep"]  # of a micro-batch

_USUAL_SECONDS = 60.0  # for the steps of one micro-batch
_PLAIN = (  # what a block must not be for a plain transformer to stand for it
    "num_experts",
    "kv_lora_rank",
    "state_space",
    "cross_attention",
)


def step_answer(args: argparse.Namespace) -> Answer:
    """Measure the model that the options name."""
    from profiles.report import step_lines
    from profiles.step import measure_step

    device = opened(args)
    make, described = _maker(args, device)
    found: dict[str, Any] = dict(described)
    lines: list[str] = []
    if args.micro_batch == "largest":
        size, found["largest"] = _largest(make, device)
        lines.append(_largest_line(found["largest"]))
    else:
        size = read_whole(COUNT, "--micro-batch", args.micro_batch)
    steps = max(3, read_whole(COUNT, "--steps", args.steps))
    limit = seconds_of(args.limit) or _USUAL_SECONDS
    measured = measure_step(
        make(size), device=device, steps=steps, seconds=limit, precision=args.precision
    )
    found |= {"micro_batch": size, "step": dataclasses.asdict(measured)}
    name = f"{described['model']}, micro-batch {size}, {args.precision}, compile {args.compile}"
    lines += step_lines(f"{name} on {device.name}", measured)
    if args.compile != "none" and measured.compile_s is None:
        described["warnings"].append(f"compile {args.compile}: torch compiled nothing")
    warnings = tuple(described["warnings"])
    return Answer(found=found, lines=lines, warnings=warnings)


def _maker(args: argparse.Namespace, device: Device) -> tuple[Maker, dict[str, Any]]:
    """How to make a step of any micro-batch, and what is measured."""
    settings: dict[str, Any] = {
        "precision": args.precision,
        "optimizer": args.optimizer,
        "compile": args.compile,
    }
    described = {"model": args.model, "device": device.describe(), "warnings": []} | settings
    if is_module_name(args.model):
        described["params"] = parameter_count(make_module(args.model))
        return _module_maker(args, device, settings), described
    return _transformer_maker(args, device, settings, described)


def _module_maker(args: argparse.Namespace, device: Device, settings: dict[str, Any]) -> Maker:
    if args.input_shape is None:
        raise PlannerError("--input-shape", None, "say the sizes of one sample, such as 3,224,224")
    sizes = tuple(read_whole(COUNT, "--input-shape", each) for each in args.input_shape.split(","))
    return lambda size: module_step(
        make_module(args.model), device, micro_batch=size, input_shape=sizes, **settings
    )


def _transformer_maker(
    args: argparse.Namespace,
    device: Device,
    settings: dict[str, Any],
    described: dict[str, Any],
) -> tuple[Maker, dict[str, Any]]:
    from planner.models import load_model
    from profiles.training import transformer_step
    from profiles.transformer import make_model

    if args.seq_len is None:
        raise PlannerError("--seq-len", None, "say tokens per sequence")
    seq_len = read_whole(SEQUENCE, "--seq-len", args.seq_len)
    model = load_model(args.model)
    dimensions = dimensions_of(model, seq_len)
    built = sum(each.numel() for each in _on_meta(device, dimensions).parameters())
    described |= {"seq_len": seq_len, "params": model.params_total, "params_built": built}
    if built != model.params_total:
        described["warnings"].append(
            f"measured as a plain transformer of {built:,} parameters, {model.name} has "
            f"{model.params_total:,}: norms and biases differ"
        )

    def make(size: int) -> TrainingStep:
        return transformer_step(
            make_model(dimensions),
            device,
            vocab=dimensions.vocab,
            micro_batch=size,
            seq_len=seq_len,
            **settings,
        )

    return make, described


def _on_meta(device: Device, dimensions: Dimensions) -> Any:
    from profiles.transformer import make_model

    with device.torch.device("meta"):
        return make_model(dimensions)


def dimensions_of(model: Model, seq_len: int) -> Dimensions:
    """The plain transformer that stands for `model`. Raises PlannerError for what none can."""
    from profiles.transformer import Dimensions

    block = _block(model)
    return Dimensions(
        layers=model.layers,
        hidden=model.hidden,
        heads=block.heads,
        kv_heads=block.kv_heads,
        head_dim=block.head_dim,
        ffn_hidden=block.ffn_hidden,
        gated=block.gated,
        vocab=model.vocab,
        tied=model.tied,
        causal=block.causal,
        bias=any(each.bias for each in block.matrices),
        positions=max(seq_len, model.max_seq_len or 0) if model.position_params else 0,
    )


def _block(model: Model) -> Block:
    """The one kind of layer that the model has."""
    if len(model.blocks) != 1 or not model.vocab or not model.input_embedding_params:
        raise PlannerError(
            "--model",
            model.name,
            "steps are measured of plain decoders and encoders with one kind of layer; "
            "give FILE.py:FUNCTION for any other module",
        )
    block = model.blocks[0]
    odd = [name for name in _PLAIN if getattr(block, name)]
    if odd or not block.ffn_hidden or block.v_head_dim != block.head_dim:
        what = odd[0] if odd else "its feed-forward network or value heads"
        remedy = f"no plain transformer stands for it ({what}); give FILE.py:FUNCTION"
        raise PlannerError("--model", model.name, remedy)
    return block


def _largest(make: Maker, device: Device) -> tuple[int, dict[str, Any]]:
    from profiles.largest import largest_micro_batch
    from profiles.live_memory import peak_of

    def peak(size: int) -> int:
        step = make(size)
        step()  # optimizer states are there from now on
        found = peak_of(step, device)
        del step
        gc.collect()
        return found.allocated_bytes

    answer = largest_micro_batch(peak, device)
    if answer.micro_batch is None:
        raise PlannerError("--micro-batch", "largest", "not even one sequence fits this device")
    return answer.micro_batch, dataclasses.asdict(answer)


def _largest_line(largest: dict[str, Any]) -> str:
    beyond = "" if largest["bounded"] else " (the search ended there: more may fit)"
    tried = len(largest["attempts"])
    return f"largest micro-batch that fits: {largest['micro_batch']}{beyond}, {tried} tried\n"
