"""From a name as people, drivers and price lists write it to one row, or a refusal that helps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from hardware_db._tables import GIB, Row, rows, words
from hardware_db.errors import AmbiguousName, UnknownName

_WORD = re.compile(r"[a-z0-9]+")
_MEMORY_SUFFIX = re.compile(r"[\s_\-/(]*?(\d+)\s*gi?b\)?$")
_MAKERS = frozenset({"nvidia", "geforce", "tesla", "amd", "instinct", "intel", "google", "cloud"})
_LONGEST_NAME = 120  # characters; anything longer is no name, and similarity costs its square
_MEMORY_TOLERANCE = 0.06  # between the memory a driver reports and ours: drivers differ by 2 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The row that a name means."""

    sku_id: str
    note: str  # what was assumed, empty when nothing was


@dataclass(frozen=True, slots=True)
class _Entry:
    sku_ids: tuple[str, ...]
    family: bool  # the name covers several parts, in the table or in the shops
    note: str


def key(name: str) -> str:
    """A name without case, spaces and punctuation.

    >>> key("NVIDIA A100-SXM4-80GB"), key("Xeon 8480+")
    ('nvidiaa100sxm480gb', 'xeon8480plus')
    """
    return "".join(_WORD.findall(name.lower().replace("+", "plus")))


def bare_key(name: str) -> str:
    """The key without makers and brands, so that `Tesla T4` and `NVIDIA T4` are `t4`."""
    found = _WORD.findall(name.lower().replace("+", "plus"))
    return "".join(word for word in found if word not in _MAKERS)


def find(name: str, memory_bytes: float | None = None) -> Match:
    """The one row that `name` means; raises AmbiguousName or UnknownName, field `sku`."""
    if isinstance(name, str) and name in _facts():
        return Match(sku_id=name, note="")  # an id needs no index of every spelling
    if not isinstance(name, str) or not key(name):
        raise UnknownName("sku", name, "name an accelerator, for example h100-sxm5-80gb")
    if len(name) > _LONGEST_NAME:
        raise UnknownName("sku", name, "too long for the name of an accelerator")
    entry = _entry(name)
    if entry is None:
        raise _unknown(name)
    if not entry.family:
        return Match(sku_id=entry.sku_ids[0], note=entry.note)
    if memory_bytes is not None:
        return _by_memory(name, entry, memory_bytes)
    raise _ambiguous(name, entry)


def _entry(name: str) -> _Entry | None:
    index = _index()
    found = index.get(key(name)) or index.get(bare_key(name))
    return found if found else _with_memory_suffix(name)


def _with_memory_suffix(name: str) -> _Entry | None:
    """`RTX3090-24GB`: the name before the suffix, narrowed to the parts with that memory."""
    text = name.lower().strip()
    suffix = _MEMORY_SUFFIX.search(text)
    if suffix is None:
        return None
    stem = text[: suffix.start()]
    entry = _index().get(key(stem)) or _index().get(bare_key(stem))
    if entry is None:
        return None
    fitting = tuple(sku for sku in entry.sku_ids if _nameplate(sku) == float(suffix[1]))
    if not fitting:
        variants = "; ".join(_variant(sku) for sku in entry.sku_ids)
        remedy = f"none with {suffix[1]} GB is in the table: known are {variants}"
        raise UnknownName("sku", name, remedy, entry.sku_ids)
    return _Entry(fitting, len(fitting) > 1, "")


def _by_memory(name: str, entry: _Entry, memory_bytes: float) -> Match:
    near = [sku for sku in entry.sku_ids if _memory_fits(sku, memory_bytes)]
    if len(near) == 1:
        return Match(sku_id=near[0], note=f"{name} with {memory_bytes / GIB:.1f} GiB")
    if near:
        raise _ambiguous(name, _Entry(tuple(near), True, entry.note))
    known = ", ".join(entry.sku_ids)
    remedy = f"none with {memory_bytes / GIB:.1f} GiB is in the table (known: {known})"
    raise UnknownName("sku", name, remedy, entry.sku_ids)


def _memory_fits(sku_id: str, memory_bytes: float) -> bool:
    usable = float(_facts()[sku_id]["usable_gib"] or 0.0) * GIB
    return abs(memory_bytes - usable) <= _MEMORY_TOLERANCE * usable


def _ambiguous(name: str, entry: _Entry) -> AmbiguousName:
    variants = "; ".join(_variant(sku) for sku in entry.sku_ids)
    why = f" ({entry.note})" if entry.note else ""
    return AmbiguousName("sku", name, f"say which one{why}: {variants}", entry.sku_ids)


def _variant(sku_id: str) -> str:
    row = _facts()[sku_id]
    rate = row["bf16_tflops"] or row["fp16_fp32_accumulate_tflops"]
    facts = [
        f"{row['nameplate_gb']} GB" if row["nameplate_gb"] else "",
        row["form_factor"],
        f"{rate} TFLOP/s" if rate else "",
        f"{row['memory_bandwidth_gbyte_per_s']} GB/s",
        f"{row['tdp_watts']} W" if row["tdp_watts"] else "",
    ]
    return f"{sku_id} [{', '.join(fact for fact in facts if fact)}]"


def _unknown(name: str) -> UnknownName:
    from difflib import get_close_matches

    index = _index()
    text = bare_key(name)
    close = get_close_matches(text, list(index), n=8, cutoff=0.6) if text else []
    close += [known for known in index if len(text) > 1 and known.startswith(text)][:8]
    nearest = tuple(dict.fromkeys(sku for near in close for sku in index[near].sku_ids))[:5]
    if nearest:
        return UnknownName(
            "sku", name, f"not in the table; nearest known: {', '.join(nearest)}", nearest
        )
    return UnknownName(
        "sku", name, "not in the table: `forerun hardware list` prints those that are"
    )


def _nameplate(sku_id: str) -> float | None:
    cell = _facts()[sku_id]["nameplate_gb"]
    return float(cell) if cell else None


@cache
def _facts() -> dict[str, Row]:
    return {row["sku_id"]: row for row in rows("accelerators")}


@cache
def _index() -> dict[str, _Entry]:
    """Every key, the surest first: alias rows, then ids and product names, then shortened ids."""
    index: dict[str, _Entry] = {}
    for row in rows("aliases"):
        entry = _Entry(words(row["sku_ids"]), row["kind"] == "family", row["note"])
        index.setdefault(key(row["alias"]), entry)
    for row in rows("accelerators"):
        for name in (row["sku_id"], row["name"]):
            for spelling in (key(name), bare_key(name)):
                index.setdefault(spelling, _Entry((row["sku_id"],), False, ""))
    for stem, sku_ids in _stems().items():
        index.setdefault(stem, _Entry(tuple(sku_ids), len(sku_ids) > 1, ""))
    return index


def _stems() -> dict[str, list[str]]:
    """Ids without their memory: `mi300x` for mi300x-192gb."""
    stems: dict[str, list[str]] = {}
    for row in rows("accelerators"):
        stem = _MEMORY_SUFFIX.sub("", row["sku_id"])
        if stem != row["sku_id"]:
            stems.setdefault(key(stem), []).append(row["sku_id"])
    return stems
