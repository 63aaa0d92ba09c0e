"""The main journey in a real browser, against the numbers of the command line."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.planning.plan import plan
from planner.quantities import show_duration, show_usd
from planner.run import Run
from tests.browser.looking import complaints, figure, is_readable, texts
from tests.browser.waiting import expect, insist, retype, settle, wait_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "llama-3-8b.yaml"


def until_time_is(page: Any, expected: str) -> None:
    wait_for(lambda: figure(page, "time") == expected, f"time {expected}")


def field(page: Any, label: str) -> Any:
    selector = f'[data-testid="stSidebar"] [aria-label="{label}"]'
    return wait_for(lambda: page.find_elements("css selector", selector), label)[0]


def typed(page: Any, label: str) -> str:
    return str(field(page, label).get_attribute("value"))


def type_into(page: Any, label: str, text: str) -> None:
    retype(page, lambda: field(page, label), text)


def days(run: Run) -> str:
    return show_duration(plan(run).run.seconds)


@pytest.fixture(scope="module")
def page(open_browser: Callable[..., Any], app_url: str) -> Any:
    """A window on the example, answered."""
    window = open_browser()
    window.get(app_url)
    wait_for(lambda: figure(window, "time"), "the first answer")
    return window


@pytest.fixture
def example(page: Any, app_url: str) -> Any:
    """The window, freshly on the example."""
    page.get(app_url)
    until_time_is(page, days(Run.from_yaml(EXAMPLE)))
    return page


def test_the_page_says_what_the_command_line_says(
    example: Any, forerun: Callable[..., Any]
) -> None:
    answer = forerun("plan", EXAMPLE, "--json", "--no-advice").json
    time, cost = show_duration(answer["run"]["seconds"]), show_usd(answer["cost"]["usd"])
    verdict = {"fits": "Fits", "uncertain": "Uncertain", "does-not": "Does not fit"}
    expect(lambda: figure(example, "time"), time, "the time")
    expect(lambda: figure(example, "cost"), cost, "the cost")
    expect(lambda: figure(example, "verdict"), verdict[answer["verdict"]], "the verdict")


def test_the_first_page_opens_by_its_name_too_with_the_scenario_of_the_address(
    open_browser: Callable[..., Any], app_url: str
) -> None:
    page = open_browser()
    run = Run(
        model="llama-3-8b",
        data={"tokens": "1T", "seq_len": 8192},
        hardware={"sku": "h100-sxm5-80gb", "count": 128},
    )
    page.get(f"{app_url}/plan?count=128")
    until_time_is(page, days(run))
    expect(lambda: page.current_url, f"{app_url}/?count=128", "the address of the first page")
    assert not page.find_elements("css selector", '[role="dialog"]')


def test_a_change_is_answered_and_its_link_opens_the_same_elsewhere(
    example: Any, open_browser: Callable[..., Any]
) -> None:
    changed = Run.from_yaml(EXAMPLE).changed({"hardware.count": 128, "training.precision": "fp8"})
    type_into(example, "How many", "128")
    until_time_is(example, days(Run.from_yaml(EXAMPLE).changed({"hardware.count": 128})))
    after = days(changed)
    choose(example, "Precision", "fp8", lambda: figure(example, "time") == after)
    link = wait_for(
        lambda: example.current_url if "precision=fp8" in example.current_url else "", "the link"
    )
    other = open_browser(language="de-CH")
    other.get(link)
    until_time_is(other, days(changed))
    expect(lambda: typed(other, "How many"), "128", "how many")


def choose(page: Any, label: str, option: str, chosen: Callable[[], bool]) -> None:
    """Pick an option of a select box with the keyboard alone, until it is `chosen`."""
    from selenium.webdriver.common.keys import Keys

    selector = f'[data-testid="stSidebar"] input[aria-label*="{label}"]'

    def act() -> None:
        settle(page)
        box = wait_for(lambda: page.find_elements("css selector", selector), label)[0]
        box.send_keys(Keys.ESCAPE, Keys.CONTROL, "a")
        box.send_keys(option)
        if option in texts(page, '[role="option"]'):
            box.send_keys(Keys.ENTER)

    insist(act, chosen, f"{option} of {label}")


def test_going_back_restores_the_scenario_before(example: Any) -> None:
    before = days(Run.from_yaml(EXAMPLE))
    type_into(example, "How many", "256")
    until_time_is(example, days(Run.from_yaml(EXAMPLE).changed({"hardware.count": 256})))
    wait_for(lambda: "count=256" in example.current_url, "the address")
    example.back()
    until_time_is(example, before)
    expect(lambda: typed(example, "How many"), "64", "how many")


def test_bad_input_is_said_beside_the_field_and_mended(example: Any) -> None:
    before = figure(example, "time")
    type_into(example, "Tokens", "lots")
    wait_for(lambda: "lots" in "".join(texts(example, ".fr-mistake")), "the mistake")
    expect(lambda: figure(example, "time"), "", "no time")
    type_into(example, "Tokens", "1T")
    until_time_is(example, before)


def test_an_uploaded_config_is_planned(example: Any, app_url: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    dimensions = {"n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024}
    text = {"model_type": "gpt2", "vocab_size": 50257, **dimensions}
    config.write_text(json.dumps(text, indent=2))
    example.get(f"{app_url}/?source=config&seq_len=1024&tokens=20B&count=8")
    selector = '[data-testid="stSidebar"] input[type="file"]'
    box = wait_for(lambda: example.find_elements("css selector", selector), "the upload")[0]
    box.send_keys(str(config))
    run = Run(
        model="gpt2-xl",
        data={"tokens": "20B", "seq_len": 1024},
        hardware={"sku": "h100-sxm5-80gb", "count": 8},
    )
    until_time_is(example, days(run))
    wait_for(lambda: "n_embd" in example.current_url, "the config in the link")


def test_the_accuracy_page_opens_and_keeps_the_scenario(example: Any) -> None:
    type_into(example, "How many", "128")
    wait_for(lambda: "count=128" in example.current_url, "the address")
    wait_for(lambda: link_to(example, "Accuracy"), "the link")[0].click()
    wait_for(lambda: "How wrong forerun is" in texts(example, "h1"), "the page")
    expect(lambda: typed(example, "How many"), "128", "how many")


def link_to(page: Any, text: str) -> list[Any]:
    return [each for each in page.find_elements("css selector", "a") if text in each.text]


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_readable_on_a_telephone(
    open_browser: Callable[..., Any], app_url: str, tmp_path: Path, dark: bool
) -> None:
    phone = open_browser(width=390, dark=dark)
    phone.get(app_url)
    wait_for(lambda: figure(phone, "time"), "the answer")
    is_readable(phone, 390)
    phone.get(f"{app_url}/?sku=l40s&count=1")
    wait_for(lambda: texts(phone, ".st-key-shortfall td"), "what would fit")
    is_readable(phone, 390)
    picture = phone.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
    (tmp_path / "phone.png").write_bytes(base64.b64decode(picture))


def test_every_input_has_a_name_for_those_who_do_not_see_it(example: Any) -> None:
    nameless = """return [...document.querySelectorAll('[data-testid="stSidebar"] input, textarea')]
        .filter(e => e.type !== 'file' && e.offsetParent !== null)
        .filter(e => !(e.getAttribute('aria-label') || e.labels?.length ||
                       e.getAttribute('aria-labelledby')))
        .map(e => e.outerHTML)"""
    assert example.execute_script(nameless) == []


def test_the_browser_is_given_nothing_to_complain_about(example: Any) -> None:
    assert complaints(example) == []
