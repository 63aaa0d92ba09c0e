"""The Scaling and Stop pages in a real browser: numbers of the command line, readable anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.quantities import show_count
from tests.browser.looking import drawing, figure, is_readable
from tests.browser.waiting import expect, retype, settle, wait_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "llama-3-8b.yaml"


def box(page: Any, label: str) -> Any:
    selector = f'input[aria-label^="{label}"]'
    return wait_for(lambda: page.find_elements("css selector", selector), label)[0]


def type_into(page: Any, label: str, text: str) -> None:
    retype(page, lambda: box(page, label), text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.csv"
    rows = [f"{step},{2 + 8 * step**-0.3}" for step in range(100, 6100, 100)]
    path.write_text("step,val_loss\n" + "\n".join(rows))
    return path


def test_the_scaling_page_says_what_the_command_says(
    open_browser: Callable[..., Any], app_url: str, forerun: Callable[..., Any]
) -> None:
    page = open_browser()
    page.get(f"{app_url}/scaling")
    wait_for(lambda: figure(page, "best_loss"), "the first answer")
    type_into(page, "Dollars", "50k")
    wait_for(lambda: figure(page, "budget") == "$50,000", "the budget")
    answer = forerun("scaling", "optimum", EXAMPLE, "--usd", "50k", "--json").json
    assert float(figure(page, "best_loss")) == pytest.approx(answer["loss"], abs=0.002)
    assert figure(page, "best_size")
    assert show_count(answer["params"])[-1] == figure(page, "best_size")[-1]


def test_the_stop_page_takes_an_upload(
    open_browser: Callable[..., Any], app_url: str, forerun: Callable[..., Any], log: Path
) -> None:
    page = open_browser()
    page.get(f"{app_url}/stop")
    selector = '[data-testid="stMain"] input[type="file"]'
    wait_for(lambda: page.find_elements("css selector", selector), "the upload")[0].send_keys(
        str(log)
    )
    wait_for(lambda: figure(page, "stop_verdict"), "the verdict")
    answer = forerun("stop", log, "--json").json
    assert figure(page, "stop_verdict").lower() == answer["verdict"]
    assert float(figure(page, "last")) == pytest.approx(answer["smoothed_last"], rel=1e-3)


def address(page: Any) -> dict[str, list[str]]:
    from urllib.parse import parse_qs, urlsplit

    return parse_qs(urlsplit(page.current_url).query)


def test_the_link_of_the_scaling_page_opens_the_same_answer(
    open_browser: Callable[..., Any], app_url: str
) -> None:
    page = open_browser()
    page.get(f"{app_url}/scaling")
    wait_for(lambda: figure(page, "best_loss"), "the first answer")
    type_into(page, "Dollars", "50k")
    wait_for(lambda: address(page).get("scaling_usd") == ["50k"], "the address")
    wait_for(lambda: figure(page, "budget") == "$50,000", "the budget")
    settle(page)
    other = open_browser()
    other.get(page.current_url)
    wait_for(lambda: figure(other, "budget") == "$50,000", "the same budget")
    names = ("best_size", "best_tokens", "best_loss")
    for name in names:
        expect(lambda name=name: figure(other, name), figure(page, name), name)
    page.back()
    wait_for(lambda: "scaling_usd" not in address(page), "the address before")


def test_the_link_of_the_stop_page_opens_the_same_verdict(
    open_browser: Callable[..., Any], app_url: str, log: Path
) -> None:
    page = open_browser()
    page.get(f"{app_url}/stop?stop_path={log}&stop_unit=usd&stop_usd_per_hour=24")
    wait_for(lambda: figure(page, "stop_verdict"), "the verdict")
    settle(page)
    assert box(page, "… or its path").get_attribute("value") == str(log)
    assert address(page)["stop_unit"] == ["usd"]
    type_into(page, "Threshold", "9%")
    wait_for(lambda: address(page).get("stop_threshold") == ["9%"], "the address")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["scaling", "stop"])
def test_both_pages_are_readable_on_a_telephone(
    open_browser: Callable[..., Any], app_url: str, log: Path, name: str, dark: bool
) -> None:
    phone = open_browser(width=390, dark=dark)
    phone.get(f"{app_url}/{name}")
    if name == "stop":
        type_into(phone, "… or its path", str(log))
    wait_for(lambda: figure(phone, "best_loss" if name == "scaling" else "last"), "the answer")
    drawing(phone)
    is_readable(phone, 390)
