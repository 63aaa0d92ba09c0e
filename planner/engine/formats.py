"""Number formats: what a recipe multiplies in, stores and communicates."""

from __future__ import annotations

BYTES = {  # bytes per element
    "fp64": 8.0,
    "fp32": 4.0,
    "tf32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
}

# recipe -> format of the large matrix products
MATMUL = {
    "fp32": "fp32",
    "tf32": "tf32",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "fp8",
    "nvfp4": "fp4",
    "int8": "int8",
    "pure-bf16": "bf16",
}

# recipe -> format of activations and of attention: low-precision recipes keep 16 bits there
ACTIVATION = {
    "fp32": "fp32",
    "tf32": "fp32",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "bf16",
    "nvfp4": "bf16",
    "int8": "bf16",
    "pure-bf16": "bf16",
}

# recipe -> format that attention and the output layer multiply in
ATTENTION = {**ACTIVATION, "tf32": "tf32"}
