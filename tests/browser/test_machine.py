"""This machine in a real browser: a real profile to its end, its numbers those of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.quantities import show_duration, show_rate
from profiles.file import read_profile
from tests.browser.looking import complaints, drawing, figure, is_readable
from tests.browser.test_scaling_and_stop import type_into
from tests.browser.waiting import expect, settle, wait_for
from ui.roofline import roofline_of


def press(page: Any, words: str) -> None:
    settle(page)
    wait_for(lambda: [each for each in buttons(page) if words in each.text], words)[0].click()


def buttons(page: Any) -> list[Any]:
    return list(page.find_elements("css selector", '[data-testid="stMain"] button'))


def text(page: Any) -> str:
    return str(page.find_element("css selector", '[data-testid="stMain"]').text)


@pytest.fixture(scope="module")
def measured(open_browser: Callable[..., Any], app_url: str, app_data: Path) -> tuple[Any, Path]:
    """A window in which the machine was measured for a second or two, and the file it left."""
    page = open_browser()
    page.get(f"{app_url}/machine")
    wait_for(lambda: figure(page, "formats"), "the machine's formats")
    settle(page)
    page.find_element("css selector", '[data-testid="stMain"] details summary').click()
    type_into(page, "Host threads", "1")
    type_into(page, "Time limit", "2")
    press(page, "Measure this machine")
    path = wait_for(lambda: list(app_data.rglob("profiles/*.json")), "the file")[0]
    wait_for(lambda: "Measured and kept" in text(page), "the end of the measurement")
    settle(page)
    return page, path


def test_a_profile_is_measured_to_its_end_and_its_numbers_are_those_of_the_file(
    measured: tuple[Any, Path],
) -> None:
    page, path = measured
    profile = read_profile(path)
    launch = profile.find("launch", "fp32")[0].median_s
    expect(lambda: figure(page, "launch"), show_duration(launch), "the launch")
    memory = show_rate(roofline_of(profile).memory, "B")
    expect(lambda: figure(page, "bandwidth"), memory, "the bandwidth")
    assert profile.environment["num_threads"] == 1


def test_the_browser_is_given_nothing_to_complain_about(measured: tuple[Any, Path]) -> None:
    assert complaints(measured[0], "/machine/_stcore") == []  # Streamlit seeks its server


def test_the_page_is_readable_on_a_telephone_in_the_dark(
    open_browser: Callable[..., Any], app_url: str, measured: tuple[Any, Path]
) -> None:
    phone = open_browser(width=390, dark=True)
    phone.get(f"{app_url}/machine")
    wait_for(lambda: figure(phone, "bandwidth"), "the profile")
    settle(phone)
    if roofline_of(read_profile(measured[1])).roofs:
        drawing(phone)
    is_readable(phone, 390)
