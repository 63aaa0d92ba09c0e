"""Published scaling laws by name: constants with their source, range and traps."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.errors import PlannerError, nearest
from planner.scaling.forms import FORMS, FloatArray

DEFAULT_LAW = "besiroglu2024"
CONDITIONAL_LAWS = {
    "unique_tokens": "muennighoff2023",
    "experts": "joint-moe2025",
    "granularity": "krajewski2024-moe",
    "weight_bits": "kumar2024",
}
AT_LEAST_ONE = ("experts", "granularity", "weight_bits")

CONVENTIONS = {
    "total": "all parameters, embeddings included",
    "non-embedding": "parameters without token and position embeddings",
    "active": "parameters that one token uses, embeddings included",
    "total-non-embedding": "all parameters, every expert, without embeddings",
    "as-given": "parameters as the fitted runs count them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Loss as a function of parameters and tokens, with all that one must know to use it."""

    name: str
    title: str
    form: str  # key of forms.FORMS
    constants: Mapping[str, float]  # nats per token, parameters, tokens
    counts: str  # key of CONVENTIONS: which parameters N counts
    ranges: Mapping[str, tuple[float, float]]  # of the fit: params, tokens, flops, ratio, experts
    data: str  # what it was trained on, with which tokenizer
    source: str
    read: str  # paper | secondary | fit
    traps: tuple[str, ...] = ()
    draws: Mapping[str, FloatArray] | None = field(default=None, compare=False)  # bootstrap draws
    noise: float | None = None  # of one run of the fitted family about it, std of log loss

    @property
    def conditions(self) -> tuple[str, ...]:
        """Further quantities that this law's loss depends on, e.g. unique_tokens."""
        return FORMS[self.form].conditions

    def loss(
        self,
        params: npt.ArrayLike,
        tokens: npt.ArrayLike,
        **conditions: npt.ArrayLike | None,
    ) -> FloatArray:
        """Loss in nats per token. Arguments broadcast; `params` as this law counts them.

        Raises PlannerError for a quantity that is not positive and finite, for a condition that
        the law does not know, and for one that it needs and was not given.

        >>> float(round(law("kaplan2020").loss(1e8, 1e18), 2))
        2.83
        """
        function = FORMS[self.form].function
        return function(
            positive("params", params),
            positive("tokens", tokens),
            **self.given(conditions),
            **self.constants,
        )

    def loss_of_draws(
        self, params: npt.ArrayLike, tokens: npt.ArrayLike, **conditions: npt.ArrayLike | None
    ) -> FloatArray | None:
        """Loss under each bootstrap draw of the constants, shape (draws, ...); None without."""
        if self.draws is None:
            return None
        size, data = np.broadcast_arrays(positive("params", params), positive("tokens", tokens))
        columns = {
            name: values.reshape(-1, *[1] * size.ndim) for name, values in self.draws.items()
        }
        function = FORMS[self.form].function
        return function(size[None], data[None], **self.given(conditions), **columns)

    def given(self, conditions: Mapping[str, npt.ArrayLike | None]) -> dict[str, FloatArray]:
        """The conditions with the form's defaults where nothing is said. Raises PlannerError for
        one that the law does not know, needs, or cannot take."""
        form = FORMS[self.form]
        values = {name: value for name, value in conditions.items() if value is not None}
        for name, value in values.items():
            if name not in form.conditions:
                raise PlannerError(name, value, f"{self.name} does not know it; {_knows(name)}")
        values = dict(form.defaults) | values
        for name in form.conditions:
            if name not in values:
                raise PlannerError(name, None, f"{self.name} needs it")
        return {name: _condition(name, value) for name, value in values.items()}


def _condition(name: str, value: npt.ArrayLike) -> FloatArray:
    array = positive(name, value, allow_infinite=name == "unique_tokens")
    if name in AT_LEAST_ONE and bool(np.any(array < 1)):
        raise PlannerError(name, value, "must be at least 1")
    return array


def positive(
    name: str, value: npt.ArrayLike | float, *, allow_infinite: bool = False
) -> FloatArray:
    """`value` as an array of positive numbers; PlannerError naming `name` otherwise."""
    if isinstance(value, float) and 0 < value < math.inf:
        return np.array(value)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlannerError(name, value, "must be a number") from None
    fine = (array > 0) & (np.isfinite(array) | allow_infinite)
    if not bool(np.all(fine)):
        raise PlannerError(name, value, "must be a positive number")
    return array


def law(name: str) -> Law:
    """The published law called `name`; PlannerError with the nearest names otherwise.

    >>> law("besiroglu2024").constants["alpha"]
    0.3478
    """
    laws = _laws()
    if name not in laws:
        close = nearest(name, laws)
        known = ", ".join(close or laws)
        raise PlannerError("law", name, f"no such law of the loss; known: {known}")
    return laws[name]


def law_names() -> list[str]:
    """Names of the laws that forecast a loss, the default first."""
    return [DEFAULT_LAW, *(name for name in _laws() if name != DEFAULT_LAW)]


def choose_law(chosen: str | Law | None, conditions: Mapping[str, float]) -> Law:
    """The law asked for; without one, the default, or the law that knows the first condition.

    >>> choose_law(None, {}).name, choose_law(None, {"experts": 8}).name
    ('besiroglu2024', 'joint-moe2025')
    """
    if isinstance(chosen, Law):
        return chosen
    if chosen is None:
        chosen = next((CONDITIONAL_LAWS[name] for name in conditions), DEFAULT_LAW)
    return law(chosen)


@cache
def _laws() -> dict[str, Law]:
    text = (resources.files("planner.scaling") / "data" / "laws.toml").read_text("utf-8")
    return {name: _law(name, row) for name, row in tomllib.loads(text).items()}


def _law(name: str, row: dict[str, Any]) -> Law:
    known = ("params", "tokens", "flops", "ratio", "experts")
    return Law(
        name=name,
        title=row["title"],
        form=row["form"],
        constants=row["constants"],
        counts=row["counts"],
        ranges={key: (row[key][0], row[key][1]) for key in known if key in row},
        data=row["data"],
        source=row["source"],
        read=row["read"],
        traps=tuple(row["traps"]),
        draws=_draws(row["draws"]) if "draws" in row else None,
    )


def _draws(filename: str) -> dict[str, FloatArray]:
    lines = (resources.files("planner.scaling") / "data" / filename).read_text("utf-8").split()
    header = lines[0].split(",")
    table = np.array([line.split(",") for line in lines[1:]], dtype=np.float64)
    return {name: table[:, column] for column, name in enumerate(header)}


def _knows(condition: str) -> str:
    names = [name for name, known in _laws().items() if condition in known.conditions]
    return f"laws that do: {', '.join(names)}" if names else "no law does"
