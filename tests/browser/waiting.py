"""Waiting for a page in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

PATIENCE = 60  # s
_SWALLOWED = 8  # s without an effect, after which an action is taken again


def wait_for(look: Callable[[], Any], what: str) -> Any:
    """What `look` finds, as soon as it finds something; elements may be replaced meanwhile."""
    from selenium.common.exceptions import StaleElementReferenceException

    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            found = look()
        except StaleElementReferenceException:
            found = None
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


def expect(look: Callable[[], Any], value: Any, what: str) -> None:
    """`look` finds `value` before patience ends: a page shows its parts one after the other."""
    seen = []

    def same() -> bool:
        seen[:] = [look()]
        return bool(seen[0] == value)

    try:
        wait_for(same, what)
    except AssertionError:
        raise AssertionError(f"{what}: {seen} instead of {value!r}") from None


def insist(act: Callable[[], None], look: Callable[[], Any], what: str) -> None:
    """Act, and again where nothing came of it: a field may be replaced under the keys."""
    from selenium.common.exceptions import StaleElementReferenceException

    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(StaleElementReferenceException):
            act()
        again = min(end, time.monotonic() + _SWALLOWED)
        while time.monotonic() < again:
            with suppress(StaleElementReferenceException):
                if look():
                    return
            time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


def settle(page: Any) -> None:
    """Wait for the whole answer: a key pressed before can meet a field that is being replaced."""
    idle = '[data-testid="stApp"][data-test-script-state="notRunning"]'
    wait_for(lambda: page.find_elements("css selector", idle), "an answered page")


def retype(page: Any, find: Callable[[], Any], text: str) -> None:
    """Replace what stands in the field that `find` gives by `text`, and send it."""
    from selenium.webdriver.common.keys import Keys

    def act() -> None:
        settle(page)
        field = find()
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        field.send_keys(Keys.ENTER)
        settle(page)

    insist(act, lambda: find().get_attribute("value") == text, f"{text} in its field")
