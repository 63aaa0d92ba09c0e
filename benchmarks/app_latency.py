"""How fast the application answers in Chromium: first paint, first answer, a change of one input.

    python benchmarks/app_latency.py [CHANGES]

Starts the application on the worked example and a headless Chromium, types numbers of
accelerators, and times from the key press to the new figures on the page.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)
COUNTS = (128, 256, 32, 512, 64)
PATIENCE = 30  # s
WATCH = """
const box = arguments[0], now = () =>
  document.querySelector('[data-figure="time"] [data-value]')?.textContent;
const before = now();
let start = performance.now();
window.answered = null;
box.addEventListener('keydown', event => { if (event.key === 'Enter') start = performance.now(); },
  {once: true, capture: true});
const watch = new MutationObserver(() => {
  if (now() && now() !== before) {
    window.answered = performance.now() - start;
    watch.disconnect();
  }
});
watch.observe(document.body, {subtree: true, childList: true, characterData: true});
"""


def main() -> None:
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["app", "examples/llama-3-8b.yaml", "--no-browser", "--port", str(port)]
    server = subprocess.Popen([sys.executable, "-m", "planner.cli", *command], stdout=-3, stderr=-3)
    browser = _browser()
    try:
        _measure(browser, f"http://127.0.0.1:{port}", changes)
    finally:
        browser.quit()
        server.kill()
        server.wait()


def _browser() -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def _measure(browser: Any, url: str, changes: int) -> None:
    _until(lambda: _healthy(url), "the server")
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name in ("cold", "warm"):
        start = time.perf_counter()
        browser.get(url)
        _until(lambda: browser.find_elements("css selector", '[data-figure="time"]'), "an answer")
        answered = time.perf_counter() - start
        paint = browser.execute_script(
            "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        )
        print(f"{name}: first paint {paint:.0f} ms, first answer {answered * 1e3:.0f} ms")
        time.sleep(3)
    times = sorted(_change(browser, COUNTS[index % len(COUNTS)]) for index in range(changes))
    print(
        f"a change of an input, {changes} times: median {times[changes // 2]:.0f} ms, "
        f"95th percentile {times[int(0.95 * changes)]:.0f} ms, longest {times[-1]:.0f} ms"
    )


def _change(browser: Any, count: int) -> float:
    """Milliseconds from Enter to the new figures."""
    from selenium.webdriver.common.keys import Keys

    box = browser.find_element("css selector", 'input[aria-label="How many"]')
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(str(count))
    browser.execute_script(WATCH, box)
    box.send_keys(Keys.ENTER)
    _until(lambda: browser.execute_script("return window.answered") is not None, "a change")
    time.sleep(1.0)  # a person reads before the next change
    return float(browser.execute_script("return window.answered"))


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
            return True
    except OSError:
        return False


def _until(look: Any, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < end, f"not within {PATIENCE} s: {what}"
        time.sleep(0.02)


if __name__ == "__main__":
    main()
