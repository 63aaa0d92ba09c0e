"""The Search page's form in the words of the command: the same parser, mistakes beside fields."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from planner.search.restrictions import KEEP
from ui.search_words import Form, Wanted, command, read


def form(**said: Any) -> Form:
    return Form(**{"chosen": {}, "typed": {}} | said)


def wanted(**said: Any) -> Wanted:
    found, mistakes = read(form(**said))
    assert found is not None, mistakes
    return found


def mistakes(**said: Any) -> dict[str, str]:
    found, said_wrong = read(form(**said))
    assert found is None
    return said_wrong


def test_an_empty_form_restricts_nothing() -> None:
    found = wanted()
    assert (found.aim.by, found.flags, found.trials) == ("time", (), None)
    assert not found.limits.says("precision")


def test_every_field_and_the_experts_words_come_together() -> None:
    found = wanted(
        by="value",
        weights="time=1, cost=2",
        keep=("precision",),
        chosen={"recompute": ("none", "full")},
        typed={"tp": "1..8", "count": "8, 16", "pp": " "},
        free_batch=True,
        most_devices="16",
        expert="--forbid compile=full\n--bound 'interleave=..2'",
    )
    assert found.aim.weights == {"time": 1.0, "cost": 2.0}
    limits = found.limits
    assert limits.fixed == {"precision": KEEP}
    assert limits.tried == {"recompute": ("none", "full"), "count": (8, 16)}
    assert limits.forbidden == {"compile": ("full",)}
    assert limits.bounds == {
        "tp": (1, 8),
        "count": (None, 16),
        "global_batch": (1, None),
        "interleave": (None, 2),
    }


def test_the_command_of_a_form_reads_back_to_the_same_search() -> None:
    found = wanted(by="cost", keep=("loss",), typed={"tp": "2,4"}, trials="50", study="two words")
    line = shlex.split(command(found))
    assert line[:3] == ["forerun", "search", "RUN.yaml"]
    assert line[-4:] == ["--trials", "50", "--study", "two words"]
    again = wanted(by="cost", expert=shlex.join(line[5:-4]))
    assert again.limits == found.limits


def test_trials_have_a_number_and_a_seed_and_a_name_only_when_given() -> None:
    found = wanted(trials="", seed="", study=" ").trials
    assert found is not None
    assert (found.number, found.seed, found.name, found.storage) == (200, 0, None, None)


@pytest.mark.parametrize(
    ("said", "field", "says"),
    [
        ({"typed": {"tp": "a few"}}, "tp", "write a count"),
        ({"typed": {"pp": "8..2"}}, "pp", "lower bound is above"),
        ({"typed": {"power_limit": "-5"}}, "power_limit", "above zero"),
        ({"most_devices": "none"}, "most_devices", "write a count"),
        ({"by": "value", "weights": "time"}, "weights", "NAME=WEIGHT"),
        ({"by": "value", "weights": "time=0"}, "weights", "weights of 0 and more"),
        ({"expert": "--fix tpp=8"}, "expert", "did you mean tp"),
        ({"expert": "fix tp=8"}, "expert", "unrecognized arguments"),
        ({"expert": "--fix"}, "expert", "expected one argument"),
        ({"expert": "--fix 'tp=8"}, "expert", "quotation"),
        ({"expert": "--by cost"}, "expert", "its own field"),
        ({"expert": "--save /etc/passwd"}, "expert", "unrecognized arguments"),
        ({"expert": "--storage sqlite:////tmp/x"}, "expert", "unrecognized arguments"),
        ({"keep": ("tp",), "expert": "--fix tp=8"}, "expert", "fixed twice"),
        ({"keep": ("tp",), "typed": {"tp": "1,2"}}, "", "conflicts with --try"),
        ({"trials": "0"}, "trials", "above zero"),
        ({"trials": "1M"}, "trials", "at most 5,000"),
        ({"trials": "10", "seed": "x"}, "seed", "write a count"),
        ({"trials": "10", "study": "x" * 99}, "study", "80 printable"),
    ],
)
def test_a_mistake_stands_beside_its_field(said: dict[str, Any], field: str, says: str) -> None:
    found = mistakes(**said)
    assert set(found) == {field}
    assert says in found[field]


def test_mistakes_of_several_fields_are_said_together() -> None:
    assert set(mistakes(typed={"tp": "x", "count": "0"}, expert="--nope")) == {
        "tp",
        "count",
        "expert",
    }
