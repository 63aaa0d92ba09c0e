"""The words a training configuration may use, each with the code that arrays carry.

A word's code is its position in its tuple, so a batch of candidates holds small integers and
`PRECISIONS[code]` turns one back into the word that the run file uses.
"""

from __future__ import annotations

TASKS = ("pretrain", "full-ft", "lora", "qlora", "dpo")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "nvfp4", "int8", "pure-bf16")
SHARDINGS = ("none", "zero1", "zero2", "zero3", "hsdp", "layer-split")
RECOMPUTES = ("none", "selective", "full")
ATTENTIONS = ("flash", "sdpa-math")
LOSSES = ("eager", "fused", "chunked", "vocab-parallel")
COMPILES = ("none", "regional", "full")
OFFLOADS = ("none", "optimizer", "params+optimizer")
OPTIMIZERS = (
    "adamw",
    "adamw-foreach",
    "adamw-fused",
    "adamw8bit",
    "adafactor",
    "lion",
    "muon",
    "soap",
    "sgd",
    "sgd-momentum",
    "none",
)
SCHEDULES = ("cosine", "linear", "wsd", "constant")


def code(words: tuple[str, ...], word: str) -> int:
    """Position of `word` in `words`; the caller has validated it."""
    assert word in words, f"{word!r} is none of {words}"
    return words.index(word)
