"""The Stop page: logs by upload and path, verdicts of the command, hostile files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from planner.scaling.logs import read_log
from planner.scaling.stopping import StopOptions, StopReport, stop_report
from ui import stop_log
from ui import stop_tables as tables
from ui.charts.stop import curve_figure, gain_figure, gains
from ui.stop_controls import in_words
from ui.table import to_csv
from ui.text import Words

APP = Path(__file__).parents[2] / "app.py"
WORDS = Words(language="en")


def log_text(count: int = 60, floor: float = 2.0) -> str:
    steps = np.arange(1, count + 1) * 100
    return "step,val_loss\n" + "\n".join(f"{s},{floor + 8 * s**-0.3}" for s in steps)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.csv"
    path.write_text(log_text())
    return path


@pytest.fixture(autouse=True)
def local_server() -> Iterator[None]:
    """Paths may be typed where `forerun app` listens, which is on this machine only."""
    before = config.get_option("server.address")
    config.set_option("server.address", "127.0.0.1")
    yield
    config.set_option("server.address", before)


def opened(**params: str) -> AppTest:
    """The page as a link with these parameters opens it."""
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.switch_page("ui/pages/stop.py")
    for key, value in params.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception
    return page


@pytest.fixture
def page() -> Iterator[AppTest]:
    shown = opened()
    yield shown
    assert not shown.exception


def html(page: AppTest) -> str:
    return "\n".join(str(each.proto.body) for each in page.get("html"))


def figure(page: AppTest, name: str) -> str:
    found = re.search(rf'data-figure="{name}".*?data-value>([^<]*)<', html(page), re.DOTALL)
    return found[1] if found else ""


def upload(page: AppTest, *files: tuple[str, bytes]) -> None:
    page.file_uploader(key="stop_upload").set_value(
        [(name, content, "text/plain") for name, content in files]
    ).run()


def report(path: Path, **options: object) -> StopReport:
    return stop_report(read_log(path), StopOptions(**options))  # type: ignore[arg-type]


def test_a_path_and_an_upload_of_the_same_log_say_the_same(page: AppTest, log: Path) -> None:
    page.text_input(key="stop_path").set_value(str(log)).run()
    assert figure(page, "stop_verdict") == "Continue"
    by_path = figure(page, "last"), figure(page, "gain")
    page.text_input(key="stop_path").set_value("").run()
    assert figure(page, "stop_verdict") == ""
    upload(page, ("run.csv", log.read_bytes()))
    assert (figure(page, "last"), figure(page, "gain")) == by_path
    assert by_path[0] == f"{report(log).smoothed_last:.4g}"


def test_several_uploads_are_the_segments_of_one_run(page: AppTest) -> None:
    lines = log_text().splitlines()
    first, second = "\n".join(lines[:30]), "\n".join([lines[0], *lines[25:]])
    upload(page, ("same.csv", first.encode()), ("same.csv", second.encode()))
    assert figure(page, "stop_verdict") == "Continue"
    assert "step 6,000" in html(page)


def test_options_change_the_verdict_and_a_wrong_one_is_said_beside_it(
    page: AppTest, log: Path
) -> None:
    page.text_input(key="stop_path").set_value(str(log)).run()
    page.text_input(key="stop_threshold").set_value("15%").run()
    assert figure(page, "stop_verdict") == "Stop"
    page.text_input(key="stop_threshold").set_value("lots").run()
    assert 'class="fr-mistake"' in html(page)
    assert figure(page, "stop_verdict") == ""
    page.text_input(key="stop_threshold").set_value("1.5%").run()
    page.text_input(key="stop_total_steps").set_value("12000").run()
    assert figure(page, "forecast") not in ("", "–")
    page.text_input(key="stop_total_steps").set_value("100").run()
    assert "already reaches step 6000" in "".join(error.value for error in page.error)


def test_a_dollar_as_the_unit_asks_for_a_price_by_the_name_of_its_field(
    page: AppTest, log: Path
) -> None:
    page.text_input(key="stop_path").set_value(str(log)).run()
    page.segmented_control(key="stop_unit").set_value("usd").run()
    assert "needs a price: “Price of the job, USD an hour”" in html(page)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\x00\x01\x02\x03" * 100, "binary"),
        (b"step,loss\n1,abc\n2,def", "log"),
        (b"step,loss\n5,3.0", "one point"),
        (b"<script>alert(1)</script>\n" * 50, "no line tells a step"),
        (b"PK\x03\x04rest of a zip", "unpack"),
        (b"step,loss\n" + b"1,2\n9,3\n2,4\n8,1\n3,3\n7,2\n1,2\n" * 20, "log"),
    ],
)
def test_hostile_uploads_are_refused_by_name_and_the_page_stays(
    page: AppTest, content: bytes, words: str
) -> None:
    upload(page, ("../../etc/evil <b>.csv", content))
    said = "".join(error.value for error in page.error)
    assert words in said
    assert "/tmp" not in said
    assert "<script>" not in html(page)


@pytest.mark.parametrize(
    "path", ["/no/such/file", "/dev/zero", "/dev/null", "\x00", "~no-such-user/x"]
)
def test_paths_that_are_no_logs_are_refused(page: AppTest, path: str) -> None:
    page.text_input(key="stop_path").set_value(path).run()
    assert page.error


def test_a_server_for_others_reads_no_paths(
    page: AppTest, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_log, "paths_allowed", lambda: False)
    page.run()
    assert "stop_path" not in [box.key for box in page.text_input]


def test_a_log_that_grows_is_read_again(log: Path) -> None:
    before = stop_log.log_of_path(str(log)).last_step
    log.write_text(log_text(80))
    assert stop_log.log_of_path(str(log)).last_step == before + 2000


def test_every_published_log_is_shown(page: AppTest, shared: Path) -> None:
    for path in sorted((shared / "data" / "curves").iterdir()):
        page.text_input(key="stop_path").set_value(str(path)).run()
        assert not page.exception, path.name
        assert figure(page, "stop_verdict"), path.name


def test_the_curve_shows_forecast_and_coming_evaluations(log: Path) -> None:
    made = report(log, total_steps=12_000.0, schedule="constant")
    drawn = curve_figure(made, WORDS)
    fan = next(trace for trace in drawn.data if trace.fill == "toself")
    assert max(fan.x) == pytest.approx(12_000)
    rug = next(trace for trace in drawn.data if trace.marker.symbol == "line-ns")
    assert tuple(rug.x) == made.next_validation


def test_gains_along_the_run_end_with_the_gain_of_the_headline(log: Path) -> None:
    made = report(log)
    steps, found = gains(made)
    assert steps[-1] == made.last_step
    assert found[-1].value == made.judgement.doubling.value
    assert gain_figure(made, WORDS) is not None


def test_a_log_without_a_doubling_has_no_gain_figure(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("step,val_loss\n" + "\n".join(f"{s},3.{s}" for s in range(600, 640, 5)))
    assert gain_figure(report(path), WORDS) is None


def test_tables_say_every_unit_and_the_end_of_the_forecast(log: Path) -> None:
    made = report(
        log, total_steps=12_000.0, seconds_per_step=1.0, usd_per_hour=10.0, schedule="constant"
    )
    assert [row.cells[0] for row in tables.units(made, WORDS).rows][:2] == [
        "doubling of compute",
        "hour",
    ]
    last = tables.curve(made, WORDS).rows[-1]
    assert last.values[0] == pytest.approx(12_000)
    assert to_csv(tables.ahead(made, WORDS)).count("\n") >= 2


def test_messages_name_fields_of_the_page() -> None:
    text = in_words("say --total-steps or --eval-seconds", WORDS)
    assert text == "say “Planned steps” or --eval-seconds"


def test_the_download_is_the_answer_of_the_command(log: Path, forerun: object) -> None:
    from planner.scaling.stopping.answer import stop_answer

    answer = forerun("stop", log, "--json").json  # type: ignore[operator]
    assert json.loads(json.dumps(stop_answer(report(log)))) == answer


def test_the_page_speaks_traditional_chinese(page: AppTest, log: Path) -> None:
    page.text_input(key="stop_path").set_value(str(log)).run()
    page.segmented_control(key="lang").set_value("zh-Hant").run()
    assert figure(page, "stop_verdict") == "繼續"


def test_a_link_reproduces_the_log_and_the_rule(log: Path) -> None:
    link = {"stop_path": str(log), "stop_unit": "usd", "stop_usd_per_hour": "24"}
    link |= {"stop_threshold": "3%", "stop_schedule": "cosine", "stop_seconds_per_step": "0.5"}
    link |= {"stop_total_steps": "12000", "stop_metric": "val_loss", "stop_direction": "min"}
    page = opened(**link)
    options = StopOptions(
        unit="usd",
        threshold=0.03,
        usd_per_hour=24.0,
        schedule="cosine",
        seconds_per_step=0.5,
        total_steps=12_000.0,
        metric="val_loss",
        direction="min",
    )
    report = stop_report(read_log(log), options)
    assert figure(page, "stop_verdict") == WORDS(f"stop_verdict.{report.verdict}")
    assert figure(page, "forecast") in (f"{report.outlook.forecast.final_loss:.4g}",)  # type: ignore[union-attr]
    assert dict(page.query_params) == link


def test_a_metric_of_another_log_is_not_taken(log: Path) -> None:
    page = opened(stop_path=str(log), stop_metric="accuracy_of_another")
    assert page.selectbox(key="stop_metric").value == ""
    assert figure(page, "stop_verdict")
