"""Our value beside every published prediction of the shared table, with the differences explained.

python -m benchmarks.scaling_predictions
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.scaling_families import SHARED, families
from planner.scaling.allocation import optimum
from planner.scaling.critical_batch import best_batch_of_loss
from planner.scaling.fit import fit_runs
from planner.scaling.forms import saturating
from planner.scaling.laws import law
from planner.scaling.learning_rate import published_settings
from planner.scaling.serving import Served, served_optimum

SAME = 0.005  # agreement wanted with the recomputed value where form and constants are the same
NEAR = 0.02  # agreement wanted with the published value, unless explained

EXPLAINED = {
    r"Hoffmann A3 (TeX|body)": "the paper's table A3 does not follow from its own constants, "
    "rounded (57 to 122 % off) or unrounded (2 to 19 %)",
    r"FLOPs opt.*N=1.75e\+11|N=1.75e\+11.*FLOPs opt": "the printed 1.26e24 is a typo for 1.26e25",
    r"Llama 3": "C = 6ND does not hold for that paper's count of compute",
    r"Joint MoE.*N_act opt|Joint MoE.*D opt": "printed to two digits; recomputed from the "
    "rounded constants of table 4, ours from those of table 3",
    r"Fine-grained MoE": "constants printed to two or three digits; size rule differs",
    r"Besiroglu 2024.*B$": "the paper prints 2085.43; its notebook and our refit give 2143.4",
}
NOT_OFFERED = {
    r"Precision \(Kumar\).*(A N|P\*)": "constants of the dense part could not all be confirmed",
    r"Gadre 2024.*(rel err|alpha,beta|k,gamma)": "needs runs or a task average not in the table",
    r"Porian": "exponents of intermediate ablations; only the tuned law is offered",
    r"nanochat": "a measured optimum, not a law",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One prediction of the table and what we make of it."""

    law: str
    input: str
    quantity: str
    published: float | None
    computed: float | None
    ours: float | None
    explanation: str | None

    @property
    def name(self) -> str:
        return f"{self.law}, {self.input}, {self.quantity}"

    def off(self, reference: float | None) -> float | None:
        """Relative difference of our value to `reference`."""
        if self.ours is None or not reference:
            return None
        return self.ours / reference - 1


def rows(path: Path = SHARED / "predictions.csv") -> list[Row]:
    """Every row of the table with our value."""
    with path.open(encoding="utf-8") as file:
        return [_row(row) for row in csv.DictReader(file)]


def _row(row: dict[str, str]) -> Row:
    name = f"{row['law']}, {row['input']}, {row['quantity']}"
    refused = _first(NOT_OFFERED, name)
    return Row(
        law=row["law"],
        input=row["input"],
        quantity=row["quantity"],
        published=_number(row["published"]),
        computed=_number(row["computed"]),
        ours=None if refused else _ours(row),
        explanation=refused or _first(EXPLAINED, name),
    )


def _first(table: dict[str, str], name: str) -> str | None:
    return next((text for pattern, text in table.items() if re.search(pattern, name)), None)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _ours(row: dict[str, str]) -> float | None:
    prefix = next((key for key in SOLVERS if row["law"].startswith(key)), None)
    return None if prefix is None else SOLVERS[prefix](row)


def _value(text: str, name: str) -> float:
    found = re.search(rf"\b{name}\s*=\s*([0-9.e+]+)", text)
    assert found, f"{name} in {text!r}"
    return float(found[1])


def _flops_of_size(name: str, params: float) -> float:
    """Compute at which the law's best size is `params`."""
    low, high = 1e12, 1e36
    for _ in range(70):
        middle = float(np.sqrt(low * high))
        below = optimum(flops=middle, law=name).params < params
        low, high = (middle, high) if below else (low, middle)
    return high


def _hoffmann(name: str) -> Callable[[dict[str, str]], float]:
    def solve(row: dict[str, str]) -> float:
        params = _value(row["input"], "N")
        flops = _flops_of_size(name, params)
        return flops if row["quantity"] == "FLOPs opt" else flops / 6 / params

    return solve


def _exponent(row: dict[str, str]) -> float:
    constants = law("hoffmann2022-a3").constants
    return constants["beta"] / (constants["alpha"] + constants["beta"])


def _gopher(row: dict[str, str]) -> float:
    names = {"A3 TeX": "hoffmann2022-a3", "A3 body": "hoffmann2022-a3-rounded"}
    name = next((n for key, n in names.items() if key in row["law"]), "besiroglu2024")
    best = optimum(flops=_value(row["input"], "C"), law=name)
    return best.params if row["quantity"] == "N opt" else best.tokens_per_param


def _loss(row: dict[str, str]) -> float:
    names = {"A3 TeX": "hoffmann2022-a3", "A3 body": "hoffmann2022-a3-rounded"}
    name = next((n for key, n in names.items() if key in row["law"]), "besiroglu2024")
    return float(law(name).loss(_value(row["input"], "N"), _value(row["input"], "D")))


def _muennighoff(row: dict[str, str]) -> float:
    text, name = row["input"], "muennighoff2023"
    if row["quantity"].startswith("effective"):
        half_life = law(name).constants["R_D"]
        return float(1 + saturating(np.array(_value(text, "epochs") - 1), half_life=half_life))
    if row["quantity"] == "loss":
        unique = _value(text, "U")
        size, data = _value(text, "N"), _value(text, "D")
        return float(law(name).loss(size, data, unique_tokens=unique))
    unique = _value(text, "U") if "U=" in text else np.inf
    best = optimum(
        flops=_value(text, "C"),
        law=name,
        conditions={"unique_tokens": unique} if np.isfinite(unique) else {},
    )
    answers = {"epochs opt": best.tokens / unique, "N opt": best.params}
    return answers.get(row["quantity"], best.tokens)


def _sardana(row: dict[str, str]) -> float:
    name, quantity = "sardana2023", row["quantity"]
    size = float(re.match(r"(\d+)B", row["input"])[1]) * 1e9  # type: ignore[index]
    tokens = _flops_of_size(name, size) / 6 / size
    if quantity == "D":
        return tokens
    loss = float(law(name).loss(size, tokens))
    served: Served = served_optimum(
        loss=loss, inference_tokens=_value(row["input"], "D_inf"), law=name
    )
    if quantity == "N opt":
        return served.params
    return 100 * served.saving if "saving" in quantity else served.tokens / served.plain_tokens


def _joint_moe(row: dict[str, str]) -> float:
    experts, quantity = _value(row["input"], "E"), row["quantity"]
    if quantity in ("m(E)", "mu(E)"):
        c = law("joint-moe2025").constants
        start = 1 / (1 / c["E_start"] - 1 / c["E_max"])
        saturated = 1 / (1 / (experts - 1 + start) + 1 / c["E_max"])
        exponent = c["alpha"] + c["gamma"] * np.log(saturated)
        return float(c["a"] * saturated ** c["delta"] if quantity == "m(E)" else exponent)
    best = optimum(
        flops=_value(row["input"], "F"), law="joint-moe2025", conditions={"experts": experts}
    )
    return best.params if quantity == "N_act opt" else best.tokens


def _fine_grained(row: dict[str, str]) -> float:
    active = float(re.match(r"64x([0-9.e+]+)", row["input"])[1])  # type: ignore[index]
    total = active * (64 if "64*Nact" in row["input"] else (8 * 64 + 4) / 12)
    tokens, granularity = _value(row["input"], "D"), _value(row["input"], "G")
    return float(law("krajewski2024-moe").loss(total, tokens, granularity=granularity))


def _deepseek(row: dict[str, str]) -> float:
    flops = _value(row["note"], "C")
    settings = published_settings(params=1e9, tokens=flops / 6 / 1e9)
    return next(entry.rate for entry in settings if entry.name == "deepseek2024")


def _refit(row: dict[str, str]) -> float:
    return fit_runs(families()[0].runs).constants[row["quantity"]]


SOLVERS: dict[str, Callable[[dict[str, str]], float]] = {
    "Hoffmann A1": _hoffmann("hoffmann2022-a1"),
    "Hoffmann A2": _hoffmann("hoffmann2022-a2"),
    "Hoffmann A3 TeX": _hoffmann("hoffmann2022-a3"),
    "Hoffmann A3 body": _hoffmann("hoffmann2022-a3-rounded"),
    "Hoffmann exponents": _exponent,
    "Gopher": _gopher,
    "loss": _loss,
    "Llama 3": lambda row: 6 * _value(row["input"], "N") * _value(row["input"], "D"),
    "Muennighoff": _muennighoff,
    "Sardana": _sardana,
    "Joint MoE": _joint_moe,
    "Fine-grained MoE": _fine_grained,
    "DeepSeek": _deepseek,
    "Kaplan L(N)": lambda row: float(law("kaplan2020").loss(_value(row["input"], "N"), 1e30)),
    "Precision (Kumar)": lambda row: float(-np.expm1(-8 / law("kumar2024").constants["gamma_w"])),
    "MiniCPM": lambda row: best_batch_of_loss(3.0),
    "Besiroglu 2024": _refit,
}


def main() -> None:
    """Print the table and how many agree."""
    found = rows()
    for row in found:
        ours = "-" if row.ours is None else f"{row.ours:.6g}"
        cells = [
            "-" if off is None else f"{off:+.2%}"
            for off in map(row.off, (row.computed, row.published))
        ]
        figures = f"{ours:>12s} {cells[0]:>9s} {cells[1]:>10s}"
        print(f"{row.name[:78]:78s} {figures}  {row.explanation or ''}")
    offered = [row for row in found if row.ours is not None]
    near = [row for row in offered if abs(row.off(row.published) or 0.0) <= NEAR]
    print(
        f"{len(found)} rows, {len(offered)} computed here, {len(near)} within {NEAR:.0%} of print"
    )


if __name__ == "__main__":
    main()
