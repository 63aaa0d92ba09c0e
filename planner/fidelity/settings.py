"""The words of a configuration that a published row states or leaves to its stack."""

from __future__ import annotations

from planner.engine import choices
from planner.engine.adapters import ROLES
from planner.engine.configuration import Configuration
from planner.engine.model import Model
from planner.fidelity.adapters import Adapter, adapter_params, usual_adapter
from planner.fidelity.bridge import BridgeRecipe, bridge_recipe
from planner.fidelity.draft import Draft
from planner.fidelity.fabrics import sku_of
from planner.fidelity.layout import Batch, Layout
from planner.fidelity.shapes import model_of

_ADAPTERS = ("lora", "qlora")
_ALL_LINEAR = frozenset({"qkv", "o", "mlp"})


def read_model(draft: Draft, layout: Layout) -> Model:
    """The row's model, with what the stack does to it: padded vocabulary, untied output layer."""
    stack = draft.practice.stack.name
    padded = stack.startswith(("megatron", "nemo", "mlperf"))
    if draft.row.count("layers") is None:
        draft.infer("layers")
    if draft.row.count("vocab") is None:
        draft.infer("vocab")
    return model_of(
        draft.row,
        untied=bool(draft.practice.settings.get("untied", False)),
        pad_vocab=128 * layout.tp if padded else 1,
        mtp=stack == "megatron-bridge" and draft.notes.mtp,
    )


def read_recipe(draft: Draft, layout: Layout) -> BridgeRecipe | None:
    """The Megatron-Bridge recipe behind a row of its performance tables."""
    if draft.practice.stack.name != "megatron-bridge":
        return None
    precision = draft.row.text("precision").lower()
    draft.infer("cuda_graphs")
    return bridge_recipe(
        model=draft.row.text("model_name"),
        sku=sku_of(draft.row),
        recipe=draft.notes.fp8_recipe or precision,
        task=draft.row.text("task").lower(),
        release=draft.notes.release,
        sharded=layout.sharding == "zero3",
    )


def read_configuration(
    draft: Draft,
    model: Model,
    layout: Layout,
    batch: Batch,
    seq_len: int,
    recipe: BridgeRecipe | None,
) -> Configuration:
    """Everything about the run but what was measured."""
    stack = draft.practice.stack
    task = draft.word("task", choices.TASKS, "pretrain")
    adapter = _adapter(draft, task)
    usual_recompute = recipe.recompute if recipe else stack.recompute
    return Configuration(
        model=model,
        sku=sku_of(draft.row),
        num_devices=layout.devices,
        devices_per_node=layout.devices_per_node,
        network_bytes_per_second=layout.network_bytes_per_second,
        seq_len=seq_len,
        micro_batch=batch.micro_batch,
        accumulation=batch.accumulation,
        task=task,
        precision=_precision(draft, task),
        tp=layout.tp,
        pp=layout.pp,
        cp=layout.cp,
        ep=layout.ep,
        dp=layout.dp,
        sharding=layout.sharding,
        shard_degree=layout.shard_degree,
        interleave=layout.interleave,
        sequence_parallel=layout.sequence_parallel,
        recompute=draft.word("recompute", choices.RECOMPUTES, usual_recompute),
        attention=_attention(draft),
        loss=draft.word("loss", choices.LOSSES, stack.loss),
        compile=_compile(draft),
        optimizer=_optimizer(draft),
        offload=str(draft.practice.settings.get("offload", "none")),
        lora_rank=adapter.rank if adapter else 0,
        lora_targets=_roles(draft, adapter),
        trainable_params=_trainable(draft, model, adapter),
        stack=stack.name,
        year=_year(draft),
    )


def _year(draft: Draft) -> int:
    """Year of the software: the row's, unless its practice is that of a closed era."""
    stack = draft.practice.stack
    closed = stack.name == "megatron-2021"
    return stack.year if closed else draft.row.count("year") or stack.year


def _precision(draft: Draft, task: str) -> str:
    """16-bit weights without an FP32 master where the stack trains so."""
    word = draft.word("precision", choices.PRECISIONS, "bf16")
    override = draft.practice.settings.get("precision")
    if isinstance(override, str):
        draft.infer("precision")
        return override
    if word == "bf16" and draft.practice.stack.precision == "pure-bf16" and task not in _ADAPTERS:
        draft.infer("precision")
        return "pure-bf16"
    return word


def _attention(draft: Draft) -> str:
    told = draft.row.text("flash_attn").lower()
    override = draft.practice.settings.get("attention")
    if isinstance(override, str):
        draft.infer("attention")
        return override
    if told in ("y", "yes", "true"):
        return "flash"
    if told in ("n", "no", "false"):
        return "sdpa-math"
    draft.infer("attention")
    return draft.practice.stack.attention


def _compile(draft: Draft) -> str:
    told = draft.row.text("compile").lower()
    if told in ("", "n", "no", "false", "none"):
        return "none" if told else draft.practice.stack.compile
    if told in choices.COMPILES:
        return told
    per_layer = draft.practice.stack.name.startswith(("torchtune", "torchtitan", "olmo"))
    return "regional" if per_layer else "full"


def _optimizer(draft: Draft) -> str:
    """The stack's own implementation where the row says no more than Adam."""
    stack = draft.practice.stack
    special = str(draft.practice.settings.get("optimizer", stack.optimizer))
    if not draft.row.text("optimizer"):
        draft.infer("optimizer")
        return special
    word = draft.word("optimizer", choices.OPTIMIZERS, special)
    generic = word == "adamw" and not stack.name.startswith("composer")
    return special if generic and special.startswith("adamw-") else word


def _adapter(draft: Draft, task: str) -> Adapter | None:
    if task not in _ADAPTERS:
        return None
    usual = usual_adapter(draft.practice.stack.name, draft.row.text("model_name"))
    rank = draft.row.count("lora_rank") or draft.notes.lora_rank
    told = draft.notes.lora_targets.lower()
    targets = _ALL_LINEAR if told.startswith("all") else usual.targets
    if rank is None:
        draft.infer("lora_rank")
    return Adapter(rank=rank or usual.rank, targets=targets)


def _roles(draft: Draft, adapter: Adapter | None) -> tuple[str, ...]:
    """The adapted parts of a layer as the engine names them; litgpt's other methods have none."""
    if adapter is None:
        return ()
    methods = {"adapter": ("prefix",), "adapter_v2": ("scale",)}
    if draft.notes.adapter in methods:
        return methods[draft.notes.adapter]
    parts = {"qkv": ("q", "k", "v"), "mlp": ("gate", "up", "down")}
    found = {role for target in adapter.targets for role in parts.get(target, (target,))}
    return tuple(role for role in ROLES if role in found)


def _trainable(draft: Draft, model: Model, adapter: Adapter | None) -> int | None:
    if draft.notes.trainable is not None:
        return draft.notes.trainable
    return adapter_params(model, adapter) if adapter else None
