"""What a page shows, read as a person reads it: from the drawn page, once it has been drawn."""

from __future__ import annotations

from typing import Any

from tests.browser.waiting import expect, wait_for


def texts(page: Any, selector: str) -> list[str]:
    """The text of each element, in the page's order."""
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return list(page.execute_script(script, selector))


def figure(page: Any, name: str) -> str:
    """The value of a headline card, "" while there is none."""
    card = f'[data-figure="{name}"]'
    return (texts(page, f"{card} [data-value], {card}[data-value]") or [""])[0]


def drawing(page: Any, within: str = "") -> Any:
    """The first figure, waited for: the library that draws it comes after the page's text."""
    selector = f"{within} .js-plotly-plot".strip()
    return wait_for(lambda: page.find_elements("css selector", selector), "a figure")[0]


def is_readable(page: Any, width: int) -> None:
    """The page fits `width` pixels, no value on it is cut off and no table scrolls sideways."""
    wide = "return document.documentElement.scrollWidth"
    expect(lambda: page.execute_script(wide) <= width, True, f"a page of at most {width} px")
    cut = """return [...document.querySelectorAll('.fr-v, .fr-i')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
    expect(lambda: page.execute_script(cut), [], "no value cut off")
    sideways = """return [...document.querySelectorAll('.fr-scroll')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"""
    expect(lambda: page.execute_script(sideways), [], "no table wider than the page")


def complaints(page: Any, *harmless: str) -> list[str]:
    """The errors in the browser's console."""
    severe = [each for each in page.get_log("browser") if each["level"] == "SEVERE"]
    said = [str(each["message"]) for each in severe]
    return [text for text in said if not any(word in text for word in ("favicon", *harmless))]
