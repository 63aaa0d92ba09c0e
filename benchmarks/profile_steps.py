"""Predicted against really measured training steps on this machine.

`python -m benchmarks.profile_steps --profile FILE`: plans plain transformers from the profile,
then trains them for a few steps, and prints both with the error. Measure the profile on the same
quiet machine with the same threads first: `forerun profile --full --threads N --out FILE`.
"""

from __future__ import annotations

import argparse
import gc
from statistics import median

import hardware_db
from planner.engine.batch import batch_of
from planner.engine.configuration import Configuration
from planner.engine.constants import constants
from planner.engine.memory import memory_bytes
from planner.engine.model import Block, Matrix, Model
from planner.profile_device.figures import read_figures
from planner.profile_device.step import profiled_step
from planner.stacks import stack
from profiles.device import open_device
from profiles.step import measure_step
from profiles.training import transformer_step
from profiles.transformer import Dimensions, make_model

SIZES = {
    "tiny": Dimensions(
        layers=4, hidden=256, heads=4, kv_heads=4, head_dim=64, ffn_hidden=1024, vocab=8192
    ),
    "small": Dimensions(
        layers=6, hidden=512, heads=8, kv_heads=8, head_dim=64, ffn_hidden=2048, vocab=8192
    ),
    "gated": Dimensions(
        layers=4,
        hidden=768,
        heads=12,
        kv_heads=4,
        head_dim=64,
        ffn_hidden=2048,
        gated=True,
        vocab=8192,
        tied=False,
    ),
}
SEQ_LEN = 256


def model_of(name: str, d: Dimensions) -> Model:
    """The engine's description of the same module."""
    query, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
    up = Matrix(name="up", role="ffn", inputs=d.hidden, outputs=(1 + d.gated) * d.ffn_hidden)
    down = Matrix(name="down", role="ffn", inputs=d.ffn_hidden, outputs=d.hidden)
    qkv = Matrix(name="qkv", role="attention", inputs=d.hidden, outputs=query + 2 * keys)
    out = Matrix(name="out", role="attention", inputs=query, outputs=d.hidden)
    norms = d.hidden if d.gated else 2 * d.hidden
    block = Block(
        count=d.layers,
        heads=d.heads,
        kv_heads=d.kv_heads,
        head_dim=d.head_dim,
        v_head_dim=d.head_dim,
        ffn_hidden=d.ffn_hidden,
        gated=d.gated,
        attention_params=qkv.params + out.params,
        ffn_params=up.params + down.params,
        norm_params=2 * norms,
        matrices=(qkv, out, up, down),
    )
    return Model(
        name=name,
        family="llama" if d.gated else "gpt2",
        kind="decoder",
        hidden=d.hidden,
        vocab=d.vocab,
        blocks=(block,),
        input_embedding_params=d.vocab * d.hidden,
        head_params=0 if d.tied else d.vocab * d.hidden,
        final_params=norms,
        tied=d.tied,
    )


def main() -> None:
    """Prints one row per model, batch and format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, help="profile file of this machine")
    parser.add_argument("--sku", default="epyc-9654", help="accelerator that stands for it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--seconds", type=float, default=10.0, help="of one model's steps")
    arguments = parser.parse_args()
    device = open_device("cpu")
    device.torch.set_num_threads(arguments.threads)
    device.clock = arguments.clock
    figures = read_figures(arguments.profile)
    print(f"{'model':8} {'batch':>5} {'format':>9} {'measured':>9} {'planned':>9} {'error':>7}")
    errors, memory_errors = [], []
    for name, dimensions in SIZES.items():
        model = model_of(name, dimensions)
        for micro_batch in (1, 4):
            for precision in ("fp32", "bf16"):
                step = transformer_step(
                    make_model(dimensions),
                    device,
                    vocab=dimensions.vocab,
                    micro_batch=micro_batch,
                    seq_len=SEQ_LEN,
                    precision=precision,
                )
                found = measure_step(step, device=device, steps=7, seconds=arguments.seconds)
                del step
                gc.collect()
                configuration = Configuration(
                    model=model,
                    sku=arguments.sku,
                    num_devices=1,
                    devices_per_node=1,
                    network_bytes_per_second=float("inf"),
                    seq_len=SEQ_LEN,
                    micro_batch=micro_batch,
                    accumulation=1,
                    precision=precision,
                    stack="hf-trainer",
                )
                batch = batch_of([configuration], hardware_db.accelerator, stack)
                planned = profiled_step(batch, figures, precision=precision)
                error = planned.total / found.step_s - 1
                errors.append(abs(error))
                held = memory_bytes(batch, constants())
                peak = float((held.total - held.reserve - held.context).item())  # tensors alone
                memory_errors.append(abs(peak / found.peak_bytes - 1))
                parts = ", ".join(f"{part} {1e3 * s:.3g}" for part, s in planned.parts.items())
                phases = found.phases
                real = (
                    f"f {1e3 * phases.forward_s:.3g} b {1e3 * phases.backward_s:.3g} "
                    f"u {1e3 * phases.update_s:.3g}"
                    if phases
                    else ""
                )
                print(
                    f"{name:8} {micro_batch:5} {precision:>9} {1e3 * found.step_s:6.0f} ms "
                    f"{1e3 * planned.total:6.0f} ms {100 * error:+6.1f} %  "
                    f"peak {found.peak_bytes / 2**20:.0f}/{peak / 2**20:.0f} MiB  "
                    f"{real} | {parts}"
                )
    print(f"median error of the time {100 * median(errors):.1f} %")
    print(f"median error of the peak {100 * median(memory_errors):.1f} %")


if __name__ == "__main__":
    main()
