"""Every page as Streamlit runs it: it opens, answers changes, and survives bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.planning.plan import plan
from planner.quantities import show_duration, show_usd
from planner.run import Run
from ui.accuracy_page import jobs
from ui.state import USUAL_SAMPLES
from ui.text import Words

APP = Path(__file__).parents[2] / "app.py"
EXAMPLE = APP.parent / "examples" / "llama-3-8b.yaml"
DEFAULT = Run(
    model="llama-3-8b",
    data={"tokens": "1T", "seq_len": 8192},
    hardware={"sku": "h100-sxm5-80gb", "count": 64},
)


def opened(**params: str) -> AppTest:
    page = AppTest.from_file(str(APP), default_timeout=60)
    for key, value in params.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception
    return page


def html(page: AppTest) -> str:
    return "\n".join(str(each.proto.body) for each in page.get("html"))


def figure(page: AppTest, name: str) -> str:
    """The value of a headline card."""
    found = re.search(rf'data-figure="{name}".*?data-value>([^<]*)<', html(page), re.DOTALL)
    assert found is not None, f"no card {name}"
    return found[1]


def test_the_plan_page_shows_the_numbers_of_the_plan() -> None:
    answer = plan(DEFAULT)
    page = opened()
    assert figure(page, "time") == show_duration(answer.run.seconds)
    assert figure(page, "cost") == show_usd(answer.cost.usd)
    assert figure(page, "verdict") == Words(language="en").name("verdict", answer.verdict)


def test_a_change_of_an_input_shows_the_plan_of_the_change() -> None:
    page = opened()
    page.text_input(key="count").set_value("128").run()
    assert figure(page, "time") == show_duration(
        plan(DEFAULT.changed({"hardware.count": 128})).run.seconds
    )
    page.selectbox(key="precision").set_value("fp8").run()
    changed = DEFAULT.changed({"hardware.count": 128, "training.precision": "fp8"})
    assert figure(page, "time") == show_duration(plan(changed).run.seconds)


def test_a_link_opens_its_scenario_and_the_address_keeps_it() -> None:
    page = opened(model="gpt2-xl", tokens="20B", seq_len="1024", count="8", sku="a100-sxm4-80gb")
    run = Run(
        model="gpt2-xl",
        data={"tokens": "20B", "seq_len": 1024},
        hardware={"sku": "a100-sxm4-80gb", "count": 8},
    )
    assert figure(page, "time") == show_duration(plan(run).run.seconds)
    page.text_input(key="tokens").set_value("1T").run()
    assert dict(page.query_params) == {
        "model": "gpt2-xl",
        "seq_len": "1024",
        "count": "8",
        "sku": "a100-sxm4-80gb",
    }


def test_bad_input_is_said_beside_its_field_and_the_page_stays_usable() -> None:
    page = opened()
    page.text_input(key="tokens").set_value("lots").run()
    assert not page.exception
    assert "write a number of tokens" in html(page)
    assert 'data-figure="time"' not in html(page)
    page.text_input(key="tokens").set_value("1T").run()
    assert figure(page, "time") == show_duration(plan(DEFAULT).run.seconds)


def test_what_only_the_planner_can_refuse_is_also_said_beside_its_field() -> None:
    page = opened(sku="h100x")
    assert 'class="fr-mistake"' in html(page)
    page.selectbox(key="sku").set_value("v100-sxm2-32gb").run()
    page.selectbox(key="precision").set_value("fp8").run()
    assert "FP8 needs compute capability 8.9" in html(page)


def test_a_link_with_an_unknown_word_says_so() -> None:
    page = opened(task="dance")
    assert "task = dance" in page.warning[0].value


@pytest.mark.parametrize(
    "params",
    [
        {"config": "<script>alert(1)</script>", "source": "config"},
        {"model": "<img src=x onerror=alert(1)>"},
        {"extra": "x" * 5000},
        {"count": "999999999999999999999"},
        {"tokens": "\u202e1T\x00"},
        {"layout_by": "typed", "tp": "0"},
    ],
)
def test_hostile_links_neither_break_the_page_nor_inject_into_it(params: dict[str, str]) -> None:
    text = html(opened(**params))
    assert "<script>alert" not in text
    assert "<img src=x" not in text


def test_a_pinned_scenario_stays_beside_the_next_one() -> None:
    page = opened()
    page.button(key="pin").click().run()
    page.text_input(key="count").set_value("128").run()
    assert "hardware.count 64 → 128" in html(page)
    assert show_duration(plan(DEFAULT).run.seconds) in html(page)
    page.button(key="pin").click().run()
    assert "hardware.count 64 → 128" not in html(page)


def test_advice_can_be_tried_with_one_press() -> None:
    page = opened()
    page.button(key="try_advice_0").click().run()
    assert not page.exception
    assert page.query_params


def test_a_plan_that_does_not_fit_offers_what_does() -> None:
    page = opened(model="llama-3-70b", count="2")
    assert figure(page, "verdict") == "Does not fit"
    page.button(key="try_short_0").click().run()
    assert figure(page, "verdict") != "Does not fit"


def test_the_page_speaks_traditional_chinese() -> None:
    page = opened(lang="zh-Hant")
    assert "天" in figure(page, "time")
    page.segmented_control(key="lang").set_value("en").run()
    assert "days" in figure(page, "time")


def test_typed_dimensions_start_from_the_preset() -> None:
    page = opened()
    page.segmented_control(key="source").set_value("dimensions").run()
    assert page.text_input(key="layers").value == "32"
    assert figure(page, "time") == show_duration(plan(DEFAULT).run.seconds)


def test_a_traced_module_is_asked_for_in_samples_and_the_next_model_in_tokens_again() -> None:
    page = opened()
    page.selectbox(key="model").set_value("resnet-50").run()
    assert page.text_input(key="samples").value == USUAL_SAMPLES
    assert "seq_len" not in {each.key for each in page.text_input}
    run = DEFAULT.changed({"model": "resnet-50", "data": {"samples": USUAL_SAMPLES}})
    assert figure(page, "time") == show_duration(plan(run).run.seconds)
    page.selectbox(key="model").set_value("llama-3-8b").run()
    assert figure(page, "time") == show_duration(plan(DEFAULT).run.seconds)


def test_the_scenario_survives_a_visit_to_another_page() -> None:
    page = opened()
    page.text_input(key="count").set_value("128").run()
    page.switch_page("ui/pages/accuracy.py").run()
    assert not page.exception
    page.switch_page("ui/pages/plan.py").run()
    assert page.text_input(key="count").value == "128"


def test_the_accuracy_page_shows_the_answer_of_validation() -> None:
    page = opened()
    page.switch_page("ui/pages/accuracy.py").run()
    job = jobs().get("validation", lambda progress: None)
    job.join(300)
    assert job.state == "done", job.error
    page.run()
    assert not page.exception
    assert figure(page, "time_error") == f"{100 * job.result['time']['median_ape']:.3g} %"


def test_a_run_file_is_opened_and_a_wrong_one_is_refused_beside_it() -> None:
    page = opened()
    text = EXAMPLE.read_bytes().replace(b"llama-3-8b", b"llama-3.1-8b")
    page.file_uploader(key="_run_file").set_value(("RUN.yaml", text, "text/yaml")).run()
    assert page.selectbox(key="model").value == "llama-3.1-8b"
    assert page.text_input(key="global_batch").value == "1024"
    wrong = ("RUN.yaml", b"model: !!python/name:os.system", "text/yaml")
    page.file_uploader(key="_run_file").set_value(wrong).run()
    assert not page.exception
    assert "tags are not read" in html(page)


def test_figures_save_as_png_or_as_svg() -> None:
    page = opened()

    def saved() -> set[str]:
        configs = [json.loads(each.proto.config) for each in page.get("plotly_chart")]
        return {config["toImageButtonOptions"]["format"] for config in configs}

    assert saved() == {"png"}
    page.session_state["figure_format"] = "svg"
    page.run()
    assert saved() == {"svg"}
