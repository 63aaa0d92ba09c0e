"""Which parts of a layer carry low-rank adapters, as far as peak memory depends on it."""

from __future__ import annotations

from collections.abc import Iterable

from planner.engine.model import Matrix

# of a layer's linear maps; `prefix` adapts none (learned prompts), `scale` rescales every output
ROLES = ("q", "k", "v", "o", "gate", "up", "down", "prefix", "scale")
ALL_LINEAR = ("q", "k", "v", "o", "gate", "up", "down")

_NAMES = {
    "q": ("q", "q_proj", "query", "wq", "q_b_proj", "q_a_proj"),
    "k": ("k", "k_proj", "key", "wk", "kv_a_proj_with_mqa", "kv_b_proj"),
    "v": ("v", "v_proj", "value", "wv"),
    "qkv": ("c_attn", "query_key_value", "wqkv", "qkv_proj", "attn", "qkv"),
}


def roles_of(matrices: Iterable[Matrix]) -> tuple[str, ...]:
    """The roles of adapted matrices, in the order of `ROLES`.

    A fused matrix of queries, keys and values counts as all three; a matrix that no name tells
    apart goes by its widths: the wider side of a feed-forward network is the inner one.

    >>> roles_of([Matrix(name="q_proj", role="attention", inputs=8, outputs=8)])
    ('q',)
    """
    found = {role for matrix in matrices for role in _roles(matrix)}
    return tuple(role for role in ROLES if role in found)


def _roles(matrix: Matrix) -> tuple[str, ...]:
    name = matrix.name.lower()
    if matrix.role == "attention":
        named = next((role for role, names in _NAMES.items() if name in names), "o")
        return ("q", "k", "v") if named == "qkv" else (named,)
    if matrix.role in ("ffn", "shared", "expert"):
        if matrix.outputs < matrix.inputs or name.startswith("down"):
            return ("down",)
        if name.startswith("gate_up"):
            return ("gate", "up")
        return ("gate",) if name.startswith("gate") else ("up",)
    return ()
