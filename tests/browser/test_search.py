"""The Search page in a real browser: the numbers of the command line, and the way to Plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.quantities import show_duration
from tests.browser.looking import drawing, figure, is_readable
from tests.browser.waiting import expect, settle, wait_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "llama-3-8b.yaml"


def press(page: Any, key: str) -> None:
    """Press the button of a key once the page has settled."""
    settle(page)
    selector = f".st-key-{key} button:not([disabled])"
    wait_for(lambda: page.find_elements("css selector", selector), key)[0].click()


def searched(page: Any, app_url: str, params: str = "") -> None:
    """Open the page and search; another test's answer to the same question is as good."""
    page.get(f"{app_url}/search{params}")
    start = ".st-key-search_start button"
    wait_for(lambda: page.find_elements("css selector", start), "the form")
    settle(page)
    if not figure(page, "best_step"):
        press(page, "search_start")
    wait_for(lambda: figure(page, "best_step"), "the answer")
    settle(page)


def test_a_search_says_what_the_command_says_and_its_best_opens_in_plan(
    open_browser: Callable[..., Any], app_url: str, forerun: Callable[..., Any]
) -> None:
    answer = forerun("search", EXAMPLE, "--json").json
    page = open_browser()
    searched(page, app_url)
    step = show_duration(answer["best"]["step"]["seconds"])
    expect(lambda: figure(page, "best_step"), step, "the best step")
    press(page, "to_plan")
    took = show_duration(answer["best"]["run"]["seconds"])
    wait_for(lambda: figure(page, "time") == took, "the plan of the best")
    precision = answer["best"]["chosen"]["precision"]
    wait_for(lambda: f"precision={precision}" in page.current_url, "its precision in the address")
    wait_for(lambda: "/search" not in page.current_url, "the address of Plan")


def test_a_click_on_a_point_opens_it_and_the_way_back_keeps_the_answer(
    open_browser: Callable[..., Any], app_url: str
) -> None:
    from selenium.webdriver import ActionChains

    page = open_browser()
    searched(page, app_url)
    marks = ".st-key-chart_points .scatterlayer .points path.point"
    point = wait_for(lambda: page.find_elements("css selector", marks), "the points")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
    settle(page)
    ActionChains(page).move_to_element(point).pause(0.3).click().perform()
    wait_for(lambda: figure(page, "time"), "the plan of the point")
    settle(page)
    wait_for(lambda: "/search" not in page.current_url, "the address of Plan")
    page.back()
    wait_for(lambda: figure(page, "best_step"), "the answer, still there")
    wait_for(lambda: "/search" in page.current_url, "the address of the search")


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_readable_on_a_telephone(
    open_browser: Callable[..., Any], app_url: str, dark: bool
) -> None:
    phone = open_browser(width=390, dark=dark)
    searched(phone, app_url)
    drawing(phone, ".st-key-chart_points")
    is_readable(phone, 390)
