"""What a compiled layer keeps: `python -m benchmarks.memory_truth.compiled`.

torch.compile splits forward and backward by a minimum cut: cheap operations are computed again
instead of kept. The split needs no compiler and no device: the joint graph is traced on fake
tensors with inductor's decompositions and partitioned, and the outputs of the forward half that
are no results are what a layer keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.linear import WEIGHT_FORMATS
from benchmarks.memory_truth.presets import SMALL
from benchmarks.memory_truth.saved import compiled_bytes_per_token, layer_bytes
from benchmarks.memory_truth.transformer import Layer

BASE = Case(id="compiled", norm="rmsnorm-eager", **SMALL)
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"norm": "layernorm"},
    {"mlp_kind": "gelu"},
    {"mlp_kind": "gelu-composed"},
    {"precision": "bf16-autocast"},
    {"precision": "fp32"},
    {"attention": "sdpa-math"},
)


def kept_tensors(case: Case) -> list[tuple[str, int]]:
    """(operation, bytes) of everything that one compiled layer of `case` keeps."""
    found: list[tuple[str, int]] = []
    with FakeTensorMode():
        _run(case, found)
    return found


def _run(case: Case, found: list[tuple[str, int]]) -> None:
    from functorch.compile import aot_function, min_cut_rematerialization_partition, nop
    from torch._inductor.decomposition import select_decomp_table

    layer, dtype = Layer(case), WEIGHT_FORMATS[case.precision]
    names = [name for name, _ in layer.named_parameters()]

    def call(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, *parameters: torch.Tensor):  # type: ignore[no-untyped-def]
        rotary = (cosine, sine) if case.positions == "rotary" else None
        state = dict(zip(names, parameters, strict=True))
        with torch.autocast("cpu", torch.bfloat16, enabled=case.precision == "bf16-autocast"):
            return torch.func.functional_call(layer, state, (x, rotary, None))

    def look(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]):  # type: ignore[no-untyped-def]
        found.extend(_kept(graph))
        return nop(graph, inputs)

    function = aot_function(
        call,
        fw_compiler=look,
        bw_compiler=nop,
        partition_fn=min_cut_rematerialization_partition,
        decompositions=select_decomp_table(),
    )
    shape = (case.micro_batch, case.seq_len, case.hidden)
    tables = (torch.empty(case.seq_len, case.head_dim, dtype=dtype) for _ in range(2))
    x = torch.empty(shape, dtype=dtype, requires_grad=True)
    function(x, *tables, *layer.parameters())


def _kept(graph: torch.fx.GraphModule) -> list[tuple[str, int]]:
    """Outputs of the forward half after its result; weights and views of them left out."""
    output = next(node for node in graph.graph.nodes if node.op == "output")
    seen: dict[str, tuple[str, int]] = {}
    for node in output.args[0][1:]:
        value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        root = _root(node) if isinstance(value, torch.Tensor) else None
        if root is not None and (root.op != "placeholder" or root.name == "primals_1"):
            seen[root.name] = (str(root.target), value.numel() * value.element_size())
    return list(seen.values())


VIEWS = ("view", "permute", "alias", "transpose", "expand", "reshape", "detach", "unsqueeze")


def _root(node: torch.fx.Node) -> torch.fx.Node | None:
    """The node whose memory a chain of views shows; None for a weight or a cast of one."""
    while node.op == "call_function" and any(view in node.name for view in VIEWS):
        node = node.args[0]
    is_cast = node.op == "call_function" and "convert_element_type" in node.name
    source = node.args[0] if is_cast else node
    if source.op == "placeholder" and source.name != "primals_1":
        return None
    return node


def main() -> None:
    """Print what a compiled layer keeps beside what the same layer keeps uncompiled."""
    for settings in SETTINGS:
        case = replace(BASE, **settings)
        kept = sum(size for _, size in kept_tensors(case)) / case.tokens
        eager = layer_bytes(case) / case.tokens
        words = " ".join(map(str, settings.values())) or "base"
        form = compiled_bytes_per_token(case)
        print(
            f"{words:14s} compiled {kept:7.0f} B/token, closed form {form:7.0f}, eager {eager:7.0f}"
        )


if __name__ == "__main__":
    main()
