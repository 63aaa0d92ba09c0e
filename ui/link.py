"""The address and the scenario say the same: a link reproduces what its sender saw.

Streamlit can bind a widget to the address by itself, but a select box is then written as the
label that it shows, with its language and its price of the day, so the address is kept here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ui.fields import BY_KEY, DEFAULTS, active_fields

LONGEST_VALUE = 20_000  # characters of one value: a config.json is one to four thousand


def read(params: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Values of all fields from an address, and what in it is not understood (key, value).

    >>> values, wrong = read({"tokens": "300B", "task": "dance"})
    >>> values["tokens"], values["task"], wrong
    ('300B', 'pretrain', [('task', 'dance')])
    """
    values, wrong = dict(DEFAULTS), []
    for key, value in params.items():
        field = BY_KEY.get(key)
        if field is None:
            continue
        if len(value) > LONGEST_VALUE or (field.choices and value not in field.choices):
            wrong.append((key, value[:60]))
        else:
            values[key] = value
    return values, wrong


def written(values: Mapping[str, str]) -> dict[str, str]:
    """What the address must say: the fields that count and differ from their default.

    >>> written({**DEFAULTS, "count": "8", "samples": "9"})
    {'count': '8'}
    """
    return {
        field.key: values[field.key]
        for field in active_fields(values)
        if values[field.key] != field.default and len(values[field.key]) <= LONGEST_VALUE
    }


def has_scenario(params: Mapping[str, str]) -> bool:
    """Whether an address says anything about the scenario."""
    return any(key in BY_KEY for key in params)
