"""The controls of a page beside the scenario: their keys in the address, and what is usual.

The scenario is in every page's address; a page's own controls are in that page's address only.
What was uploaded is in none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from planner.engine.choices import SCHEDULES, TASKS
from planner.scaling.marginal import THRESHOLD
from planner.search.points import OBJECTIVES
from ui.link import LONGEST_VALUE

BUDGETS = ("usd", "days", "flops")
AIMS = ("usual", *OBJECTIVES)  # of a comparison
WEIGHTS = tuple(map(str, range(0, 101, 10)))  # per cent of cost against time
ASSUMPTIONS = ("usd_per_kwh", "utilisation", "years", "server_factor")  # of owning
ON = "1"  # a switch that is on, in an address
Value = str | bool | list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageField:
    """One control of a page: a text, a word of a list, several words of one, or a switch."""

    key: str  # of the widget and of the address
    default: str | bool = ""
    choices: Callable[[], tuple[str, ...]] = tuple  # a closed list; empty: free text
    many: bool = False  # several of the choices, none by default

    @property
    def usual(self) -> Value:
        """The value of a session that says nothing."""
        return [] if self.many else self.default

    def read(self, text: str) -> Value | None:
        """The value that an address states; None where it is not understood."""
        if self.many:
            words = list(dict.fromkeys(filter(None, text.split(","))))
            return words if set(words) <= set(self.choices()) else None
        if isinstance(self.default, bool):
            return text == ON if text in (ON, "0") else None
        known = self.choices()
        return None if len(text) > LONGEST_VALUE or (known and text not in known) else text

    def written(self, value: Any) -> str | None:
        """What an address says; None for the usual value and for one that no address can say."""
        if value is None or value == self.usual:
            return None
        text = ",".join(value) if self.many else ON if value is True else str(value)
        return text if self.read(text) == value else None


def _laws() -> tuple[str, ...]:
    from planner.scaling.laws import law_names

    return ("", *law_names())


def _stop_units() -> tuple[str, ...]:
    from planner.scaling.stopping.options import UNITS

    return UNITS


def _directions() -> tuple[str, ...]:
    from planner.scaling.stopping.options import DIRECTIONS

    return ("", *DIRECTIONS)


def _providers() -> tuple[str, ...]:
    import hardware_db

    return ("", *(each.provider for each in hardware_db.providers()))


def _profiles() -> tuple[str, ...]:
    from ui.profile_store import known

    return ("", *(each.key for each in known()))


def _texts(*keys: str) -> tuple[PageField, ...]:
    return tuple(PageField(key=key) for key in keys)


_SCALING = (
    PageField(key="scaling_unit", default="usd", choices=lambda: BUDGETS),
    *_texts(*(f"scaling_{unit}" for unit in BUDGETS)),
    PageField(key="scaling_repeats", default=False),
    PageField(key="scaling_repeats_tokens", default="25B"),
    PageField(key="scaling_serves", default=False),
    PageField(key="scaling_serves_tokens", default="1T"),
    PageField(key="scaling_law", choices=_laws),
)
STOP_TEXTS = (  # by the name of the command's option
    "total_steps",
    "warmup_steps",
    "usd_per_hour",
    "devices",
    "seconds_per_step",
    "tokens_per_step",
    "params",
    "worth",
)
_STOP = (
    *_texts("stop_path", "stop_metric", *(f"stop_{name}" for name in STOP_TEXTS)),
    PageField(key="stop_unit", default="doubling", choices=_stop_units),
    PageField(key="stop_threshold", default=f"{100 * THRESHOLD:g}%"),
    PageField(key="stop_schedule", choices=lambda: ("", *SCHEDULES)),
    PageField(key="stop_direction", choices=_directions),
    PageField(key="stop_task", default=TASKS[0], choices=lambda: TASKS),
)


def _axes() -> tuple[str, ...]:
    from planner.search.axes import AXES

    return tuple(AXES)


def _tried(name: str) -> Callable[[], tuple[str, ...]]:
    """The words that may be tried of an axis."""

    def words() -> tuple[str, ...]:
        import hardware_db
        from planner.search.axes import AXES

        if name == "sku":
            return tuple(part.sku_id for part in hardware_db.accelerators())
        return AXES[name].words

    return words


SEARCH_MODES = ("exact", "trials")
SEARCH_WORDS = (  # axes of which words are chosen
    *("precision", "recompute", "sharding", "compile", "attention", "loss", "price", "sku"),
)
SEARCH_NUMBERS = (  # axes of which numbers or bounds are typed
    *("count", "tp", "pp", "cp", "ep", "micro_batch", "power_limit"),
)
_SEARCH_TEXTS = ("weights", "trials", "seed", "study", "most_devices", "expert")
_SEARCH = (
    PageField(key="search_by", default=OBJECTIVES[0], choices=lambda: OBJECTIVES),
    PageField(key="search_mode", default=SEARCH_MODES[0], choices=lambda: SEARCH_MODES),
    *_texts(*(f"search_{name}" for name in (*_SEARCH_TEXTS, *SEARCH_NUMBERS))),
    PageField(key="search_keep", many=True, choices=_axes),
    *(PageField(key=f"search_{name}", many=True, choices=_tried(name)) for name in SEARCH_WORDS),
    PageField(key="search_free_batch", default=False),
)
_CHOOSE = (
    PageField(key="choose_by", default=AIMS[0], choices=lambda: AIMS),
    PageField(key="choose_weight", default="50", choices=lambda: WEIGHTS),
    PageField(key="choose_skus", many=True, choices=_tried("sku")),
    PageField(key="choose_provider", choices=_providers),
    PageField(key="choose_owned", default=False),
    PageField(key="choose_spot", default=False),
    *_texts(*(f"choose_{name}" for name in ("counts", "memory", *ASSUMPTIONS))),
)
_MACHINE = (
    PageField(key="machine_preset", default="quick", choices=lambda: ("quick", "full")),
    PageField(key="machine_profile", choices=_profiles),
    PageField(key="machine_other", choices=_profiles),
)
FIELDS: dict[str, tuple[PageField, ...]] = {
    "choose": _CHOOSE,
    "machine": _MACHINE,
    "scaling": _SCALING,
    "search": _SEARCH,
    "stop": _STOP,
}
BY_KEY = {field.key: field for page in FIELDS.values() for field in page}


def read(params: Mapping[str, str]) -> tuple[dict[str, Value], list[tuple[str, str]]]:
    """The controls that an address states, and what in it is not understood (key, value).

    >>> read({"scaling_usd": "50k", "scaling_repeats": "1", "stop_unit": "fortnight"})
    ({'scaling_usd': '50k', 'scaling_repeats': True}, [('stop_unit', 'fortnight')])
    """
    values: dict[str, Value] = {}
    wrong = []
    for key, text in params.items():
        if key not in BY_KEY:
            continue
        value = BY_KEY[key].read(text)
        if value is None:
            wrong.append((key, text[:60]))
        else:
            values[key] = value
    return values, wrong


def written(page: str, state: Mapping[str, Any]) -> dict[str, str]:
    """What the address of a page must say: its controls that differ from what is usual.

    >>> written("scaling", {"scaling_usd": "50k", "scaling_serves": False, "stop_params": "7B"})
    {'scaling_usd': '50k'}
    """
    said = {field.key: field.written(state.get(field.key)) for field in FIELDS.get(page, ())}
    return {key: text for key, text in said.items() if text is not None}


def restored(state: MutableMapping[str, Any], found: Mapping[str, Value]) -> None:
    """Put the controls of an address into a session; a page of it that says nothing is as usual."""
    for key, field in BY_KEY.items():
        if key in found:
            state[key] = found[key]
        elif key in state:
            state[key] = field.usual


def begin(page: str, state: MutableMapping[str, Any], **usual: str) -> None:
    """The usual value of every control that has none yet, `usual` before the general one."""
    for field in FIELDS[page]:
        if field.key not in state:
            state[field.key] = usual.get(field.key, field.usual)
