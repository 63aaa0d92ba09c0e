"""One training configuration with nothing left open: what the engine evaluates."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A training configuration, fully decided. Degrees multiply to `num_devices`: tp·pp·cp·dp."""

    model: Model
    sku: str  # hardware_db accelerator id
    num_devices: int
    devices_per_node: int
    network_bytes_per_second: float  # one way, per accelerator, between nodes
    seq_len: int  # tokens per sequence (padded length where padded)
    micro_batch: int  # sequences per data-parallel rank and micro-step
    accumulation: int  # micro-steps per optimizer step
    task: str = "pretrain"  # choices.TASKS
    precision: str = "bf16"  # choices.PRECISIONS
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1  # expert parallel, inside the data-parallel (and context) group
    dp: int = 1
    sharding: str = "none"  # choices.SHARDINGS
    shard_degree: int = 0  # 0 = the whole data-parallel group
    interleave: int = 1  # virtual pipeline stages per device
    sequence_parallel: bool = False
    recompute: str = "none"  # choices.RECOMPUTES
    attention: str = "flash"  # choices.ATTENTIONS
    loss: str = "eager"  # choices.LOSSES
    compile: str = "none"  # choices.COMPILES
    optimizer: str = "adamw"  # choices.OPTIMIZERS
    offload: str = "none"  # choices.OFFLOADS
    reduce_dtype: str = ""  # wire format of the gradient reduction; "" = the stack's
    lora_rank: int = 0
    lora_targets: tuple[str, ...] = ()  # engine.adapters.ROLES; empty = every linear layer
    trainable_params: int | None = None  # None = all of the model's
    power_limit_watts: float | None = None  # None = the part's own limit
    stack: str = "pytorch-fsdp"  # a row of stacks.toml
    year: int = 2026  # of the software
    flash: str = ""  # generation of flash attention, stacks.FLASH_GENERATIONS; empty = the stack's
    fp8_recipe: str = ""  # delayed | current-scaling | mxfp8 | blockwise | nvfp4; "" = not said
    dispatcher: str = "alltoall"  # of tokens to experts: alltoall | deepep | hybridep
    expert_overlap: bool = False  # expert exchange runs beside compute of other micro-batches
    cuda_graphs: str | None = None  # none | partial | full; None = the stack's
    encoder_seq_len: int = 0  # encoder-decoder: source tokens; 0 = seq_len

    @property
    def global_batch(self) -> int:
        """Sequences per optimizer step."""
        return self.micro_batch * self.accumulation * self.dp

    @property
    def tokens_per_step(self) -> int:
        return self.global_batch * self.seq_len
