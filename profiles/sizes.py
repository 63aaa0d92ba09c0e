"""The sizes of a profile's kernels: those of real layers, scaled to what a device can do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from profiles.device import Device
from profiles.formats import FORMATS
from profiles.transformer import Dimensions

MIB = 2**20
PRESETS = ("quick", "full")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What to measure; sizes ascend, so that each bounds the next."""

    all_formats: tuple[str, ...]  # of the cubes
    formats: tuple[str, ...]  # of everything else
    copies: tuple[int, ...]  # bytes
    transfers: tuple[int, ...]  # bytes
    cubes: tuple[int, ...]
    aligned: int
    products: tuple[tuple[int, int, int], ...]  # m tokens, n outputs, k inputs
    backward_products: tuple[tuple[int, int, int], ...]
    cold_products: tuple[tuple[int, int, int], ...]  # also measured steady, smaller than caches
    batched: tuple[tuple[int, int, int, int], ...]  # batch, m, n, k
    heads: tuple[int, int]  # heads, width of one
    lengths: tuple[int, ...]  # of attention
    layers: tuple[tuple[int, int, Dimensions], ...]  # batch, length, widths
    planes: tuple[tuple[int, int], ...]  # rows, width
    logits: tuple[tuple[int, int], ...]  # rows, vocabulary
    embeddings: tuple[tuple[int, int, int], ...]  # rows, vocabulary, width
    parameters: tuple[tuple[int, int], ...]  # tensors, elements of each
    variants: tuple[str, ...]  # of the optimizer
    convolutions: tuple[tuple[int, int, int, int, int], ...]  # batch, in, side, out, kernel
    compiled: bool
    weighed: bool  # measure the energy of the largest cubes, 15 s each


def sizes_for(device: Device, preset: str) -> Sizes:
    """The sizes for a kind of device and a preset."""
    assert preset in PRESETS
    if device.kind == "cpu":
        return _HOST if preset == "quick" else _HOST_FULL
    return _ACCELERATOR if preset == "quick" else _ACCELERATOR_FULL


def _widths(hidden: int, heads: int, ffn: int, *, gated: bool = False) -> Dimensions:
    return Dimensions(
        layers=1,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        ffn_hidden=ffn,
        gated=gated,
    )


# products of the layers of small transformers: tokens × (outputs, inputs)
_HOST = Sizes(
    all_formats=tuple(each for each in FORMATS),
    formats=("fp32", "bf16"),
    copies=(MIB // 4, 4 * MIB, 128 * MIB),
    transfers=(),
    cubes=(64, 128, 256, 512, 1024),
    aligned=512,
    products=(
        (64, 256, 256),
        (64, 768, 768),
        (128, 1024, 256),
        (128, 256, 1024),
        (128, 3072, 768),
        (256, 512, 512),
        (256, 768, 256),
        (256, 2048, 512),
        (256, 512, 2048),
        (512, 256, 256),
        (512, 1536, 512),
        (512, 768, 768),
        (512, 768, 3072),
        (512, 4096, 256),
        (1024, 512, 512),
        (1024, 1024, 256),
        (1024, 2304, 768),
        (2048, 256, 256),
        (2048, 768, 768),
    ),
    backward_products=((256, 256, 512), (512, 768, 768), (768, 768, 512), (1024, 256, 1024)),
    cold_products=((256, 256, 256), (256, 768, 256), (128, 1024, 256), (256, 512, 512)),
    batched=((32, 64, 64, 64), (8, 256, 256, 64)),
    heads=(8, 64),
    lengths=(128, 256, 512, 1024),
    layers=((1, 128, _widths(256, 4, 1024)), (2, 256, _widths(512, 8, 2048))),
    planes=((512, 512), (2048, 1024)),
    logits=((256, 8192),),
    embeddings=((1024, 8192, 512),),
    parameters=((8, 262_144), (16, 1_048_576), (4, 4_194_304)),
    variants=("loop", "fused"),
    convolutions=((4, 32, 28, 32, 3), (4, 64, 28, 128, 1), (2, 64, 56, 64, 3)),
    compiled=False,
    weighed=False,
)
_HOST_FULL = replace(
    _HOST,
    formats=("fp32", "bf16", "fp16", "fp64"),
    copies=(MIB // 16, MIB // 4, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB),
    cubes=(64, 128, 256, 512, 1024, 2048),
    products=(
        *_HOST.products,
        (64, 3072, 768),
        (256, 768, 3072),
        (512, 2048, 512),
        (512, 8192, 512),
        (1024, 768, 3072),
        (1024, 3072, 768),
        (2048, 1024, 1024),
        (2048, 512, 2048),
        (4096, 512, 512),
    ),
    backward_products=(*_HOST.backward_products, (512, 512, 2048), (2048, 512, 1024)),
    lengths=(64, 128, 256, 512, 1024, 2048),
    layers=(*_HOST.layers, (2, 512, _widths(768, 12, 3072))),
    planes=((128, 256), (512, 512), (2048, 1024), (4096, 4096)),
    logits=((256, 8192), (512, 32_000)),
    embeddings=((1024, 8192, 512), (4096, 32_000, 768)),
    variants=("foreach", "fused", "loop"),
    convolutions=(*_HOST.convolutions, (8, 128, 28, 128, 3), (8, 256, 14, 256, 3)),
    compiled=True,
    weighed=True,
)
_ACCELERATOR = replace(
    _HOST,
    formats=("tf32", "bf16"),
    copies=(MIB, 16 * MIB, 256 * MIB, 1024 * MIB),
    transfers=(MIB, 64 * MIB, 512 * MIB),
    cubes=(256, 512, 1024, 2048, 4096, 8192),
    aligned=4096,
    products=(
        (512, 768, 768),
        (512, 4096, 4096),
        (1024, 3072, 768),
        (1024, 2048, 8192),
        (2048, 1024, 1024),
        (2048, 6144, 4096),
        (2048, 28_672, 4096),
        (4096, 4096, 4096),
        (4096, 4096, 14_336),
        (4096, 2304, 768),
        (8192, 1024, 4096),
        (8192, 768, 3072),
        (8192, 5120, 5120),
        (16_384, 2048, 2048),
    ),
    backward_products=((1024, 1024, 4096), (4096, 4096, 4096), (4096, 14_336, 4096)),
    cold_products=((512, 768, 768), (1024, 3072, 768), (2048, 1024, 1024)),
    batched=((64, 512, 512, 64), (128, 1024, 1024, 128)),
    heads=(32, 128),
    lengths=(512, 1024, 2048, 4096, 8192),
    layers=((8, 1024, _widths(768, 12, 3072)), (1, 4096, _widths(4096, 32, 14_336, gated=True))),
    planes=((4096, 1024), (8192, 4096)),
    logits=((4096, 32_000),),
    embeddings=((8192, 32_000, 4096),),
    parameters=((64, 16_384), (32, 4_194_304)),
    convolutions=((32, 64, 56, 64, 3), (32, 256, 14, 256, 3), (32, 256, 56, 64, 1)),
)
_ACCELERATOR_FULL = replace(
    _ACCELERATOR,
    formats=("fp32", "tf32", "fp16", "bf16"),
    copies=(MIB // 4, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB, 4096 * MIB),
    transfers=(64 * 1024, MIB, 16 * MIB, 256 * MIB, 1024 * MIB),
    cubes=(128, 256, 512, 1024, 2048, 4096, 8192, 12_288),
    products=(
        *_ACCELERATOR.products,
        (256, 4096, 4096),
        (1024, 12_288, 12_288),
        (2048, 8192, 1024),
        (4096, 10_240, 8192),
        (4096, 32_000, 4096),
        (8192, 4096, 1024),
        (8192, 8192, 8192),
        (8192, 28_672, 8192),
        (16_384, 5120, 1280),
    ),
    lengths=(256, 512, 1024, 2048, 4096, 8192, 16_384),
    layers=(*_ACCELERATOR.layers, (1, 4096, _widths(5120, 40, 13_824, gated=True))),
    planes=((1024, 1024), (4096, 1024), (8192, 4096), (8192, 14_336)),
    logits=((4096, 32_000), (4096, 128_256)),
    variants=("foreach", "fused", "loop"),
    convolutions=(*_ACCELERATOR.convolutions, (64, 128, 28, 128, 3), (64, 512, 7, 512, 3)),
    compiled=True,
    weighed=True,
)
