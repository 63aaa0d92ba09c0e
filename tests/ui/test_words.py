"""Both languages say everything, with the same blanks to fill."""

from __future__ import annotations

import string

from planner.planning.plan import plan
from planner.run import Run
from ui.fields import BY_KEY
from ui.text import LANGUAGES, Words, table


def blanks(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_words_with_the_same_blanks() -> None:
    english, chinese = table("en"), table("zh-Hant")
    assert set(english) == {key for key in chinese if not key.startswith("unit.")}
    for key, text in english.items():
        assert blanks(text) == blanks(chinese[key]), key


def test_every_field_has_a_label_and_its_help_belongs_to_a_field() -> None:
    for key in BY_KEY:
        assert f"field.{key}" in table("en")
    for key in table("en"):
        assert not key.startswith("help.") or key.removeprefix("help.") in BY_KEY


def test_every_part_of_a_plan_has_a_name_in_both_languages() -> None:
    run = Run(
        model="llama-3-8b",
        data={"tokens": "1T", "seq_len": 8192},
        hardware={"sku": "h100-sxm5-80gb", "count": 64},
    )
    answer = plan(run)
    for language in LANGUAGES:
        words = table(language)
        for group, parts in (
            ("step", answer.step.parts),
            ("memory", answer.memory.parts),
            ("run", answer.run.parts),
        ):
            assert {f"{group}.{name}" for name in parts} <= set(words)


def test_a_new_word_of_the_planner_is_shown_readable() -> None:
    assert Words(language="en").name("step", "some_new_part") == "some new part"


def test_chinese_numbers_carry_chinese_units_and_the_same_digits() -> None:
    words = Words(language="zh-Hant")
    assert words.number("11.2 days (9.92 to 12.8)") == "11.2 天 (9.92 至 12.8)"
    assert words.number("63.1 GiB") == "63.1 GiB"
    assert words.number("unknown") == "未知"
