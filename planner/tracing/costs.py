"""What one torch operation costs: FLOP, bytes it moves, kernels it launches.

Counted from the tensors' shapes, so fake tensors are enough. torch's own FLOP counter gives
attention on a processor no FLOP at all; here every kind of attention counts its two products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Dims = tuple[int, int, int, int]  # m, n, k, groups

FLASH_BACKWARD = 2.5  # five products instead of two (Dao 2023, section 3)

# operations that allocate or read shapes and launch nothing
_FREE = frozenset(
    {
        "empty",
        "empty_like",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "empty_permuted",
        "detach",
        "_local_scalar_dense",
        "resize_",
        "set_",
        "lift_fresh",
        "sym_size",
        "sym_stride",
        "sym_numel",
    }
)
_NORMS = frozenset(
    {
        "native_batch_norm",
        "native_batch_norm_backward",
        "_native_batch_norm_legit",
        "native_layer_norm",
        "native_layer_norm_backward",
        "native_group_norm",
        "native_group_norm_backward",
        "_fused_rms_norm",
        "_fused_rms_norm_backward",
        "_batch_norm_with_update",
        "batch_norm_backward",
        "_softmax",
        "_softmax_backward_data",
        "_log_softmax",
        "_log_softmax_backward_data",
    }
)
# batch statistics must be complete before anything is normalised: its input is read twice
_TWICE = frozenset(
    {
        "native_batch_norm",
        "native_batch_norm_backward",
        "_native_batch_norm_legit",
        "_batch_norm_with_update",
        "batch_norm_backward",
        "native_group_norm",
        "native_group_norm_backward",
    }
)
# operations that read as many rows of a table as they write
_LOOK_UPS = frozenset(
    {
        "embedding",
        "index",
        "index_select",
        "gather",
    }
)
_ATTENTION = frozenset(
    {
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
    }
)
_ATTENTION_BACKWARD = frozenset(f"{name}_backward" for name in _ATTENTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One kernel or a few: FLOP of products (0 for the rest) and bytes read and written."""

    kind: str  # product | convolution | attention | norm | pointwise
    name: str
    flops: float
    bytes: float
    kernels: int
    width: int  # bytes per element of what is multiplied, 0 where nothing is
    dims: Dims | None = None  # of a matrix product, of a convolution as the product it stands for
    head_dim: int = 0  # attention
    keys: int = 0  # attention: keys that a query sees on average
    channels_last: bool = False  # convolution: how its images lie in memory


def costs_of(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    """The kernels of operation `name` (without its overload) on tensors `args`, giving `out`."""
    if name in _FREE:
        return []
    if name in _ATTENTION:
        return [_attention(name, args, 1.0, out)]
    if name in _ATTENTION_BACKWARD:
        return [_attention(name, args[1:], FLASH_BACKWARD, (args[0], out))]
    product = _PRODUCTS.get(name)
    return product(name, args, out) if product else [_traffic(name, args, out)]


def tensors(value: Any) -> list[Any]:
    """Every tensor in nested tuples and lists."""
    if hasattr(value, "untyped_storage"):
        return [value]
    if isinstance(value, list | tuple):
        return [each for part in value for each in tensors(part)]
    return []


def size(tensor: Any) -> float:
    """Bytes of a tensor's elements; an expanded one is no larger than what is stored."""
    return float(min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes()))


def _traffic(name: str, args: Sequence[Any], out: Any) -> Cost:
    """Everything else is bound by memory: read the inputs, write the outputs."""
    read = [size(each) for each in tensors(list(args))]
    written = sum(size(each) for each in tensors(out))
    moved = sum(read) + written
    if name in _LOOK_UPS:
        moved = 2 * written + sum(sorted(read)[:-1])
    if name in _TWICE:
        large = max(read, default=0.0)
        moved += sum(each for each in read if each == large)
    kind = "norm" if name in _NORMS else "pointwise"
    return Cost(kind=kind, name=name, flops=0.0, bytes=moved, kernels=1, width=0)


def _product(name: str, dims: Dims, parts: Sequence[Any], images: Any = None) -> Cost:
    m, n, k, groups = dims
    return Cost(
        kind="product" if images is None else "convolution",
        name=name,
        flops=2.0 * m * n * k * groups,
        bytes=sum(size(each) for each in parts),
        kernels=1,
        width=parts[0].element_size(),
        dims=dims,
        channels_last=images is not None and any(map(_is_channels_last, images)),
    )


def _is_channels_last(images: Any) -> bool:
    """Whether the channels of a position are neighbours in memory; unclear for single positions."""
    several = images.dim() > 3 and images.shape[1] > 1 and math.prod(images.shape[2:]) > 1
    return bool(several and images.stride()[1] == 1)


def _mm(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    a, b = args[0], args[1]
    return [_product(name, (a.shape[0], b.shape[1], a.shape[1], 1), (a, b, out))]


def _addmm(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    return _mm(name, args[1:], out)


def _bmm(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    a, b = args[0], args[1]
    return [_product(name, (a.shape[1], b.shape[2], a.shape[2], a.shape[0]), (a, b, out))]


def _baddbmm(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    return _bmm(name, args[1:], out)


def _mv(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    a, b = args[0], args[1]
    return [_product(name, (a.shape[0], 1, a.shape[1], 1), (a, b, out))]


def _addmv(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    return _mv(name, args[1:], out)


def _dot(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    return [_product(name, (1, 1, args[0].shape[0], 1), (args[0], args[1], out))]


def convolution_dims(x: Any, weight: Any, y: Any, transposed: bool, groups: int) -> Dims:
    """A convolution as the product that it stands for, (m, n, k, groups).

    m: output positions of all samples; n: output channels of a group; k: input channels of a group
    times the kernel. A transposed one is the input gradient of a plain one: its input plays the
    output.
    """
    grid = x if transposed else y
    positions = grid.shape[0] * math.prod(grid.shape[2:])
    per_position = math.prod(weight.shape[1:])
    return positions, weight.shape[0] // groups, per_position, groups


def _convolution(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    x, weight, transposed, groups = args[0], args[1], bool(args[6]), int(args[8])
    dims = convolution_dims(x, weight, out, transposed, groups)
    return [_product(name, dims, (x, weight, out), (x, out))]


def _convolution_backward(name: str, args: Sequence[Any], out: Any) -> list[Cost]:
    """Gradients of the input and of the weight: a product each, as large as the forward one."""
    gradient, x, weight, transposed, groups = (
        args[0],
        args[1],
        args[2],
        bool(args[7]),
        int(args[9]),
    )
    m, n, k, _ = convolution_dims(x, weight, gradient, transposed, groups)
    of_input, of_weight, of_bias = args[10]
    images = (x, gradient)
    found = []
    if of_input:
        found.append(_product(f"{name} input", (m, k, n, groups), (gradient, weight, x), images))
    if of_weight:
        found.append(_product(f"{name} weight", (n, k, m, groups), (gradient, x, weight), images))
    if of_bias:
        found.append(_traffic(f"{name} bias", (gradient,), ()))
    return found


def _attention(name: str, args: Sequence[Any], times: float, moved: Any) -> Cost:
    """Scores and values: 2·(d_qk + d_v) FLOP a query, head and key; a causal mask halves them."""
    query, key, value = args[0], args[1], args[2]
    batch, heads, length, width = query.shape
    causal = any(each is True for each in args) and length == key.shape[2]
    keys = key.shape[2] / 2 if causal else key.shape[2]
    flops = 2.0 * batch * heads * length * keys * (width + value.shape[3])
    parts = tensors([query, key, value, moved])
    return Cost(
        kind="attention",
        name=name.removesuffix("_for_cpu").replace("_for_cpu", "").lstrip("_"),
        flops=flops * times,
        bytes=sum(size(each) for each in parts),
        kernels=1 if times == 1 else 2,
        width=query.element_size(),
        head_dim=int(width),
        keys=math.ceil(keys),
    )


_PRODUCTS: dict[str, Callable[[str, Sequence[Any], Any], list[Cost]]] = {
    "mm": _mm,
    "addmm": _addmm,
    "bmm": _bmm,
    "baddbmm": _baddbmm,
    "addbmm": _baddbmm,
    "mv": _mv,
    "addmv": _addmv,
    "dot": _dot,
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_backward": _convolution_backward,
}
