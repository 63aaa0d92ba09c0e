"""The page This machine, with real measurements of a second: start, stop, continue, upload."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.planning.plan import plan
from planner.quantities import show_duration, show_flops, show_rate
from planner.run import Run
from profiles.file import read_profile, write_profile
from profiles.result import Profile
from tests.conftest import PROJECT
from ui import machine_page, measuring, profile_store
from ui.child import Child, ChildError
from ui.measuring import Bench, Measurement, continued
from ui.measuring import Run as Measured
from ui.roofline import roofline_of
from ui.run_file import extra_of

APP = PROJECT / "app.py"
ENOUGH = 14  # kernels: a launch, copies, cubes in FP64 and FP32


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A real measurement of this machine that was stopped once it had products in FP32."""
    path = tmp_path_factory.mktemp("profile") / "small.json"
    started = Bench()
    assert started.start(Measurement(device="cpu", preset="quick", path=path, threads=1))
    assert not started.start(Measurement(device="cpu", preset="quick", path=path))
    run = started.latest
    assert run is not None
    wait(lambda: not run.running or (run.child.progress and run.child.progress.done >= ENOUGH))
    started.cancel()
    run.job.join(10)
    return run


@pytest.fixture(scope="module")
def real(stopped: Measured) -> Path:
    """The small profile that it left."""
    return stopped.asked.path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setattr(profile_store, "folder", lambda: tmp_path / "profiles")
    return tmp_path / "profiles"


@pytest.fixture
def stored(folder: Path, real: Path) -> Path:
    folder.mkdir()
    path = folder / "small.json"
    path.write_bytes(real.read_bytes())
    return path


@pytest.fixture(scope="module")
def described() -> list[dict[str, object]]:
    """What this machine says it is, asked once."""
    job = Bench().description()
    job.join(60)
    found: list[dict[str, object]] = job.result
    return found


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench()
    monkeypatch.setattr(machine_page, "bench", lambda: made)
    yield made
    made.cancel()


@pytest.fixture
def page(
    folder: Path,
    bench: Bench,
    described: list[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[AppTest]:
    # the machine was asked for real, once for all tests
    monkeypatch.setattr(measuring, "_devices", lambda text: described)
    monkeypatch.setattr(measuring, "DESCRIBE", ("-c", "pass"))
    bench.description().join(30)
    opened = AppTest.from_file(str(APP), default_timeout=60)
    opened.run()
    opened.switch_page("ui/pages/machine.py").run()
    yield opened
    assert not opened.exception


def html(page: AppTest) -> str:
    return "\n".join(str(each.proto.body) for each in page.get("html"))


def figure(page: AppTest, name: str) -> str:
    found = re.search(rf'data-figure="{name}".*?data-value>([^<]*)<', html(page), re.DOTALL)
    return found[1] if found else ""


def buttons(page: AppTest) -> set[str | None]:
    return {button.key for button in page.button}


def wait(look: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_measurement_outlives_leaving_the_page_and_is_kept_and_shown(
    page: AppTest, bench: Bench, folder: Path
) -> None:
    page.number_input(key="machine_threads").set_value(1)
    page.number_input(key="machine_limit").set_value(1)
    page.run()
    page.button(key="machine_start").click().run()
    assert "machine_cancel" in buttons(page)
    run = bench.latest
    assert run is not None
    page.switch_page("ui/pages/stop.py").run()
    run.job.join(60)
    page.switch_page("ui/pages/machine.py").run()
    assert run.job.state == "done"
    profile = read_profile(run.asked.path)
    assert run.asked.path.parent == folder
    assert profile.environment["num_threads"] == 1
    found = roofline_of(profile)
    assert figure(page, "bandwidth") == show_rate(found.memory, "B")
    assert page.success
    assert page.session_state["machine_profile"] == f"stored:{run.asked.path.name}"


def test_a_stopped_measurement_keeps_its_kernels_and_is_continued(
    stopped: Measured, stored: Path, bench: Bench
) -> None:
    assert stopped.cancelled
    before = read_profile(stored)
    assert len(before.results) >= ENOUGH
    assert not before.complete
    again = continued(before, stored)
    assert again is not None
    assert bench.start(dataclasses.replace(again, seconds=1))
    assert bench.latest is not None
    bench.latest.job.join(60)
    after = read_profile(stored)
    assert after.results[: len(before.results)] == before.results
    assert len(after.results) > len(before.results)
    left = sorted(each.name for each in stored.parent.iterdir())
    assert left == ["small.json", "small.samples.jsonl"]


def test_what_the_profiler_refuses_is_one_line(bench: Bench, folder: Path) -> None:
    path = folder / "p.json"
    assert bench.start(Measurement(device="cpu", preset="quick", path=path, seconds=1e9))
    assert bench.latest is not None
    bench.latest.job.join(60)
    assert isinstance(bench.latest.job.error, ChildError)
    assert str(bench.latest.job.error).startswith("profiles: --limit: '1e+09': write seconds")
    assert not folder.exists()


def test_a_process_that_does_not_end_when_asked_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.child.PATIENCE", 0.2)
    code = "import signal, sys, time; signal.signal(15, signal.SIG_IGN);"
    code += 'sys.stderr.write(\'{"done":1,"planned":2,"doing":"x","left_s":1}\\n\');'
    code += "sys.stderr.flush(); time.sleep(60)"
    child = Child([sys.executable, "-c", code], folder=PROJECT)
    from ui.jobs import Job

    job = Job(child)
    wait(lambda: job.progress == (1, 2))
    child.cancel()
    job.join(10)
    assert job.state == "cancelled"


def test_the_machine_is_described_with_its_formats(page: AppTest) -> None:
    assert figure(page, "device") == "CPU"
    assert figure(page, "threads").isdigit()
    assert "native: " in html(page)
    assert "machine_start" in buttons(page)


def test_the_page_imports_no_torch() -> None:
    code = "import sys, ui.machine_page; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_without_torch_the_remedy_is_said_and_stored_profiles_are_shown(
    stored: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = (
        "import sys, importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda name, *a: None if name == 'torch' else find(name, *a);"
        "from profiles.__main__ import main; sys.exit(main(['--describe', '--json']))"
    )
    monkeypatch.setattr(measuring, "DESCRIBE", ("-c", hidden))
    bench.description().join(30)
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.run()
    page.switch_page("ui/pages/machine.py").run()
    assert not page.exception
    assert "Measuring needs torch" in page.warning[0].value
    assert [code.value for code in page.code] == ["pip install -c constraints.txt -e '.[profile]'"]
    assert "machine_start" not in buttons(page)
    assert figure(page, "device") == "CPU"
    assert figure(page, "bandwidth") != ""


def test_a_stored_profile_shows_the_numbers_of_its_file(stored: Path, page: AppTest) -> None:
    profile = read_profile(stored)
    found = roofline_of(profile)
    rates = [roof.rate for name, roof in found.roofs.items() if name != "int8"]
    assert figure(page, "best_rate") == show_flops(max(rates), per_second=True)
    assert "unfinished" in page.selectbox(key="machine_profile").options[0]
    assert "machine_continue" in buttons(page)


def test_a_link_opens_the_same_profile_and_says_when_it_is_not_there(
    stored: Path, bench: Bench, described: list[dict[str, object]], page: AppTest
) -> None:
    write_profile(stored.parent / "second.json", read_profile(stored))
    page.run()
    page.selectbox(key="machine_profile").set_value("stored:small.json").run()
    page.run()
    assert page.query_params["machine_profile"] == "stored:small.json"
    other = AppTest.from_file(str(APP), default_timeout=60)
    other.query_params["machine_profile"] = "stored:gone.json"
    other.run()
    assert "stored:gone.json" in other.warning[0].value


def test_two_profiles_are_compared(stored: Path, page: AppTest) -> None:
    write_profile(stored.parent / "slower.json", slower(read_profile(stored), 2.0))
    page.run()
    page.selectbox(key="machine_profile").set_value("stored:small.json").run()
    page.selectbox(key="machine_other").set_value("stored:slower.json").run()
    assert "this profile is 2× as fast as" in html(page)


def slower(profile: Profile, times: float) -> Profile:
    """The same machine in a worse mood."""
    results = tuple(
        dataclasses.replace(each, median_s=each.median_s * times) if each.median_s else each
        for each in profile.results
    )
    return dataclasses.replace(profile, results=results)


def test_an_uploaded_profile_is_shown_and_stays_in_the_session(
    page: AppTest, real: Path, folder: Path
) -> None:
    upload(page, "box.json", real.read_bytes())
    assert page.session_state["machine_profile"] == "uploaded:box.json"
    assert figure(page, "bandwidth") == show_rate(roofline_of(read_profile(real)).memory, "B")
    assert not folder.exists()
    page.switch_page("ui/pages/stop.py").run()
    page.switch_page("ui/pages/machine.py").run()
    assert figure(page, "bandwidth") != ""


def upload(page: AppTest, name: str, content: bytes) -> None:
    page.file_uploader(key="machine_upload").set_value([(name, content, "text/json")]).run()


def test_an_upload_that_is_kept_can_be_planned_with(
    page: AppTest, real: Path, folder: Path
) -> None:
    upload(page, "box.json", enough(read_profile(real)))
    page.button(key="machine_keep").click().run()
    assert read_profile(folder / "box.json") == profile_store.known()[0].profile
    page.selectbox(key="model").set_value("gpt2-124m")
    page.selectbox(key="precision").set_value("fp32").run()
    page.button(key="machine_plan").click().run()
    run = Run.from_mapping(
        {
            "model": "gpt2-124m",
            "data": {"tokens": page.session_state["tokens"], "seq_len": 8192},
            "hardware": {"profile": str(folder / "box.json"), "count": 1},
            "training": {"precision": "fp32", "stack": page.session_state["stack"] or None},
        }
    )
    assert read_profile(folder / "box.json").device["name"] in html(page)
    assert figure(page, "time") == show_duration(plan(run).run.seconds)


def enough(profile: Profile) -> bytes:
    """The profile with its FP32 cubes at sizes between too, as a longer measurement has them."""
    cubes = [each for each in profile.results if each.kernel == "gemm" and each.format == "fp32"]
    more = [
        dataclasses.replace(
            each,
            shape={**each.shape, "n": 2 * int(each.shape["n"])},
            flops=2 * each.flops,
            bytes=2 * each.bytes,
            median_s=2 * (each.median_s or 1.0),
        )
        for each in cubes
    ]
    grown = dataclasses.replace(profile, results=(*profile.results, *more))
    return json.dumps(dataclasses.asdict(grown)).encode()


def test_a_link_names_no_file_of_the_server_but_the_profiles_offered(stored: Path) -> None:
    from planner.errors import PlannerError

    assert extra_of(f"hardware.profile: {stored}") == {"hardware.profile": str(stored)}
    outside = stored.parent.parent / "other.json"
    outside.write_text("{}")
    (stored.parent / "link.json").symlink_to(outside)
    for path in (outside, stored.parent / ".." / "other.json", stored.parent / "link.json"):
        with pytest.raises(PlannerError, match="a file of the server"):
            extra_of(f"hardware.profile: {path}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no JSON"),
        (b"\x00\x01", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"schema": NaN}', "is no JSON"),
        (b'{"schema": "other/9"}', "other/9"),
        (b"[]", "measure again"),
    ],
)
def test_a_file_that_is_no_profile_is_refused_by_name_and_the_page_stays(
    page: AppTest, content: bytes, said: str
) -> None:
    upload(page, "../../evil <b>.json", content)
    text = "".join(error.value for error in page.error)
    assert said in text
    assert "machine_start" in buttons(page)
    assert "<b>" not in html(page)


def test_a_damaged_profile_is_refused_with_its_field(real: Path) -> None:
    from planner.errors import PlannerError

    found = json.loads(real.read_text())
    found["results"][0]["median_s"] = -1
    with pytest.raises(PlannerError, match=r"results\[0\]"):
        profile_store.uploaded("p.json", json.dumps(found).encode())
    with pytest.raises(PlannerError, match="larger than 8 MB"):
        profile_store.uploaded("p.json", b" " * (8 * 10**6 + 1))


def test_files_that_are_no_profiles_are_passed_over(stored: Path) -> None:
    (stored.parent / "broken.json").write_text("{")
    (stored.parent / ".hidden.json").write_bytes(stored.read_bytes())
    found = [each.key for each in profile_store.known() if each.origin == "stored"]
    assert found == ["stored:small.json"]


def test_profiles_that_come_with_forerun_are_offered(folder: Path) -> None:
    shipped = {each.path for each in profile_store.known() if each.origin == "measured"}
    assert shipped == set(profile_store.shipped_folder().rglob("*.json"))


def test_the_page_speaks_traditional_chinese(stored: Path, page: AppTest) -> None:
    page.segmented_control(key="lang").set_value("zh-Hant").run()
    assert "本機：實際的能力" in html(page)
    assert "要查看的量測檔" in [box.label for box in page.selectbox]
