"""The real application in a real browser: a server on a free port and a headless Chromium."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def app_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the application takes for the user's data."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory, app_data: Path) -> Iterator[str]:
    """Address of `forerun app examples/llama-3-8b.yaml`, started as a person starts it."""
    port = _free_port()
    words = ["app", "examples/llama-3-8b.yaml", "--no-browser", "--port", str(port)]
    log = tmp_path_factory.mktemp("app") / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", *words],
            cwd=PROJECT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "XDG_DATA_HOME": str(app_data)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/_stcore/health", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(timeout=10)


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.25)
    raise AssertionError(f"the application did not start: {log.read_text()}")


@pytest.fixture(scope="session")
def open_browser(
    chromium: tuple[str, str], app_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Any]]:
    """`open_browser(width=390, dark=True, language="zh-TW")` gives a Selenium driver.

    It needs the server, so that the windows close before the server does.
    """
    assert app_url
    from selenium import webdriver

    opened = []

    def make(*, width: int = 1400, dark: bool = False, language: str = "en-US") -> Any:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium[0]
        profile = tmp_path_factory.mktemp("chromium")
        for flag in (
            *FLAGS,
            f"--window-size={width},1000",
            f"--user-data-dir={profile}",
            f"--lang={language}",
        ):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"intl.accept_languages": language})
        service = webdriver.ChromeService(executable_path=chromium[1])
        driver = webdriver.Chrome(options=options, service=service)
        opened.append(driver)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        return driver

    yield make
    for driver in opened:
        driver.quit()
