"""Facts that a published row tells only in its free text."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What the notes of a row say. None or an empty string: they do not say."""

    interleave: int | None = None  # virtual pipeline stages per device
    fp8_recipe: str = ""  # delayed current-scaling mxfp8 blockwise nvfp4
    release: str = ""  # of the software, as YY.MM or YY.MM.PP
    network_gbit: float | None = None  # Gbit/s per node, one way
    trainable: int | None = None  # parameters
    lora_rank: int | None = None
    lora_targets: str = ""  # as written
    quantization: str = ""  # nf4 nf4-dq gptq-int4 gptq-int8 bnb-int4
    adapter: str = ""  # lora adapter adapter_v2
    mixed_precision: str = ""  # DEFAULT or PURE of Composer
    reserved_gib: float | None = None  # allocator's reserve beside an allocated peak
    optimizer_in_backward: bool = False
    activation_offload: bool = False
    cpu_offload: bool = False
    unpacked: bool = False  # variable-length samples, nominal tokens exceed real ones
    gigabytes: bool = False  # the peak is in 1e9 bytes although the column says GiB
    token_drop: bool = False  # mixture of experts with a capacity limit
    mtp: bool = True  # multi-token prediction module of DeepSeek-V3 trains along
    chips_per_slice: int | None = None  # TPU


def parse_notes(text: str, path: str = "", model: str = "") -> Notes:
    """Facts in the notes of one row, its place in the source and its model name.

    >>> parse_notes("26.04 NeMo Container; MXFP8; VP=12; MoE force-balanced routing").interleave
    12
    >>> parse_notes("BLOOM").unpacked
    False
    """
    low = text.lower()
    return Notes(
        interleave=_interleave(text),
        fp8_recipe=_fp8_recipe(low, path),
        release=_first(r"(?:^|[\s;\[])(\d\d\.\d\d(?:\.\d\d)?) NeMo Container", text)
        or _first(r"NeMo (\d\d\.\d\d)", text),
        network_gbit=_network(text + " " + path),
        trainable=_integer(r"trainable ([\d,]+)", low) or _millions(text),
        lora_rank=_integer(r"lora rank=(\d+)", low),
        lora_targets=_first(r"LoRA Target Modules=([^;]+)", text),
        quantization=_quantization(low),
        adapter=_first(r"method (\w+)", text),
        mixed_precision=_first(r"MP [Mm]ode[ =](\w+)", text),
        reserved_gib=_number(r"\(reserved ([\d.]+) gib\)", low),
        optimizer_in_backward=_says(low, "optimizer-in-bwd", "optimizer in bwd"),
        activation_offload="activation offload" in low or "actcpuoffload=true" in low,
        cpu_offload="cpu offload" in low,
        unpacked="unpacked" in low,
        gigabytes=_says(low, "source gb", "source says gb", "gpu gb as published"),
        token_drop="token-drop" in low or "tokendrop" in low or "tokendrop" in model.lower(),
        mtp=not ("w/o mtp" in low or "w/o mtp" in model.lower()),
        chips_per_slice=_slice(text),
    )


def _says(text: str, *phrases: str) -> bool:
    return any(phrase in text for phrase in phrases)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1).strip() if found else ""


def _integer(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    digits = found.group(1).replace(",", "") if found else ""
    return int(digits) if digits else None


def _number(pattern: str, text: str) -> float | None:
    found = re.search(pattern, text)
    return float(found.group(1)) if found else None


def _millions(text: str) -> int | None:
    value = _number(r"Trainable Params \(M\)=([\d.]+)", text)
    return None if value is None else round(value * 1e6)


def _interleave(text: str) -> int | None:
    """`VP=5`, `VP=n/a` and `VP=1 (8)`, where brackets hold the value of another variant."""
    found = re.search(r"VP=(n/a|\d+)?(?: \((\d+)\))?", text)
    if not found or (found.group(1) is None and found.group(2) is None):
        return 1 if "1F1B" in text else None
    bracket = found.group(2)
    if bracket and "granularity variant" in text:
        return int(bracket)
    return 1 if found.group(1) in (None, "n/a") else int(found.group(1))


def _fp8_recipe(low: str, path: str) -> str:
    if "nvfp4" in low:
        return "nvfp4"
    if "granularity variant" in low:
        return "mxfp8" if not _hopper(path) else "blockwise"
    if "mxfp8" in low:
        return "mxfp8"
    if "current-scaling" in low or "current scaling" in low:
        return "current-scaling"
    if "blockwise" in low:
        return "blockwise"
    return "delayed" if "delayed" in low else ""


def _hopper(path: str) -> bool:
    return "h100" in path.lower()


def _network(text: str) -> float | None:
    """Gbit/s per node. `Gb/s` and `Gbps` mean the same."""
    return _number(r"(\d+(?:\.\d+)?) ?Gb(?:ps|/s)", text)


def _quantization(low: str) -> str:
    for pattern, name in (
        (r"bnb\.nf4-dq", "nf4-dq"),
        (r"bnb\.nf4", "nf4"),
        (r"int4 \(gptq\)", "gptq-int4"),
        (r"int8 \(gptq\)", "gptq-int8"),
        (r"int4 \(bnb\)", "nf4"),
    ):
        if re.search(pattern, low):
            return name
    return ""


def _slice(text: str) -> int | None:
    """Chips of one TPU slice: v5e counts chips, v4 and v5p count cores, two a chip."""
    found = re.search(r"v(\d)(e|p)?-(\d+)", text)
    if not found:
        return None
    generation, kind, size = found.group(1), found.group(2), int(found.group(3))
    return size if kind == "e" or generation == "6" else size // 2
