"""The Choose hardware page in a real browser: the command's first rank, a click, a telephone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.quantities import show_duration, show_usd
from tests.browser.looking import figure, is_readable
from tests.browser.waiting import expect, settle, wait_for
from ui.choose_tables import name_of

FEW = "h100-sxm5-80gb,b200-sxm6-180gb,a100-sxm4-80gb,l40s"
SCENARIO = "model=gpt2-124m&tokens=10B&seq_len=1024"
ASKED = f"{SCENARIO}&choose_skus={FEW}&choose_counts=8,16"


def drawn(page: Any) -> list[Any]:
    found = page.find_elements("css selector", ".js-plotly-plot .scatterlayer .points path")
    return list(found)


def ranked(page: Any) -> list[Any]:
    return list(page.find_elements("css selector", ".st-key-section_ranking tbody tr"))


def test_the_first_rank_is_that_of_the_command_and_a_click_opens_its_plan(
    open_browser: Callable[..., Any], app_url: str, forerun: Callable[..., Any]
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page = open_browser()
    page.get(f"{app_url}/choose?{ASKED}")
    words = ("--model", "gpt2-124m", "--tokens", "10B", "--seq-len", 1024)
    answer = forerun("compare", *words, "--skus", FEW, "--counts", "8,16", "--json").json
    first = answer["ranking"][0]
    time = show_duration(first["run"]["seconds"])
    expect(lambda: figure(page, "choose_best"), name_of(first), "the first rank")
    expect(lambda: figure(page, "choose_time"), time, "its time")
    expect(lambda: figure(page, "choose_cost"), show_usd(first["cost"]["usd"]), "its cost")
    fit = sum(row["fits"] for row in answer["ranking"])
    wait_for(lambda: len(ranked(page)) == fit, f"{fit} rows")
    settle(page)
    star = wait_for(lambda: drawn(page), "the points")[-1]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", star)
    ActionChains(page).move_to_element(star).pause(0.3).click().perform()
    wait_for(lambda: figure(page, "time") == time, "its plan")
    wait_for(lambda: "layout_by=typed" in page.current_url, "its address")
    page.back()
    wait_for(lambda: figure(page, "choose_best"), "the ranking again")


def test_the_page_is_readable_on_a_telephone(
    open_browser: Callable[..., Any], app_url: str
) -> None:
    phone = open_browser(width=390, dark=True)
    phone.get(f"{app_url}/choose?{ASKED}")
    wait_for(lambda: figure(phone, "choose_best"), "the ranking")
    wait_for(lambda: drawn(phone), "the figure")
    is_readable(phone, 390)
