"""Profile files: round trip, atomic writing, hostile content, disks that do not take them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiles.errors import ProfileError
from profiles.file import append_samples, read_profile, samples_path, write_profile
from profiles.result import SCHEMA, Profile, Result
from tests.conftest import PROJECT


def result(**changes: Any) -> Result:
    base: dict[str, Any] = {
        "kernel": "gemm",
        "format": "bf16",
        "shape": {"m": 64, "n": 64, "k": 64},
        "mode": "steady",
        "median_s": 1e-5,
        "iqr_s": 1e-7,
        "n": 9,
        "flops": 2.0 * 64**3,
        "bytes": 3.0 * 2 * 64**2,
    }
    return Result(**(base | changes))


def profile(*results: Result) -> Profile:
    return Profile(
        schema=SCHEMA,
        created="2026-11-30T12:00:00+00:00",
        complete=True,
        preset="quick",
        environment={"torch": "2.13.0", "num_threads": 1},
        device={"name": "a device", "kind": "cpu", "sku_id": None, "memory_bytes": 8 * 2**30},
        results=results or (result(), result(format="tf32", median_s=None, iqr_s=None, n=0)),
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(path, profile())
    assert read_profile(path) == profile()


def test_the_fields_that_other_programs_rely_on_are_there(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(path, profile())
    found = json.loads(path.read_text())
    assert {"schema", "created", "environment", "device", "results", "warnings"} <= found.keys()
    fields = "kernel format shape median_s iqr_s n mode flops bytes energy_j flags"
    assert set(fields.split()) <= found["results"][0].keys()
    assert found["results"][0]["energy_j"] is None  # unknown, not 0


def test_no_half_file_is_left_where_the_disk_is_full(tmp_path: Path) -> None:
    """The process may write 4 KiB, the profile is larger: the old file stays whole."""
    path = tmp_path / "p.json"
    write_profile(path, profile())
    before = path.read_bytes()
    code = (
        "import resource, signal, sys\n"
        "sys.path.insert(0, '.')\n"
        "from pathlib import Path\n"
        "from tests.profiles.test_profile_file import profile, result\n"
        "from profiles.file import write_profile\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "write_profile(Path(sys.argv[1]), profile(*[result()] * 100))\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be written: File too large" in done.stderr
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into every folder")
def test_a_read_only_folder_is_refused_with_the_remedy(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ProfileError, match="--out"):
        write_profile(tmp_path / "p.json", profile())


def test_a_folder_that_is_not_there_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="--out"):
        write_profile(tmp_path / "none" / "p.json", profile())


def test_raw_samples_lie_beside_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    append_samples(path, "a", [1e-3, 2e-3], 1)
    append_samples(path, "b", [1e-3], 4)
    lines = [json.loads(line) for line in samples_path(path).read_text().splitlines()]
    assert [line["key"] for line in lines] == ["a", "b"]
    assert lines[0]["samples_s"] == [1e-3, 2e-3]


def changed(path: str, value: object) -> dict[str, Any]:
    found: Any = json.loads(json.dumps(dataclasses.asdict(profile())))
    place = found
    *way, last = path.split(".")
    for step in way:
        place = place[int(step)] if step.isdigit() else place[step]
    place[int(last) if last.isdigit() else last] = value
    return dict(found)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "forerun-profile/99"),
        ("schema", 1),
        ("results", {}),
        ("results.0.median_s", -1.0),
        ("results.0.median_s", 0),
        ("results.0.median_s", "1e-3"),
        ("results.0.median_s", True),
        ("results.0.flops", 1e40),
        ("results.0.mode", "warm"),
        ("results.0.shape", [64]),
        ("results.0.shape", {"m": 1.5}),
        ("results.0.kernel", "\x1b]0;pwned\x07"),
        ("results.0.flags", [1]),
        ("device.name", None),
        ("environment", []),
        ("environment.num_threads", "\x1b[2J"),
        ("environment.cpu", {"flags": ["avx2", "\u202efma"]}),
        ("environment.variables", {"\x1b[1m": "1"}),
        ("device.label", "cpu\r\n"),
        ("warnings", ["x" * 5000]),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(tmp_path: Path, path: str, value: object) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps(changed(path, value)))
    with pytest.raises(ProfileError) as caught:
        read_profile(file)
    assert caught.value.field.startswith("profile")


def test_a_collective_moves_what_its_shape_says(tmp_path: Path) -> None:
    file, shape = tmp_path / "p.json", {"bytes": 1024, "ranks": 4, "nodes": 1, "backend": "gloo"}
    sound = result(kernel="all_reduce", format="fp32", shape=shape, flops=0.0, bytes=1536.0)
    write_profile(file, profile(sound))
    assert read_profile(file).results == (sound,)
    write_profile(file, profile(dataclasses.replace(sound, bytes=1e9)))
    with pytest.raises(ProfileError, match="not the traffic of all_reduce") as caught:
        read_profile(file)
    assert caught.value.field == "profile.results[0].bytes"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[" * 100_000, b"null", b"[]", b'{"schema": NaN}', b"\xff\xfe\x00", b"{}"],
)
def test_what_is_no_profile_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "p.json"
    file.write_bytes(content)
    with pytest.raises(ProfileError) as caught:
        read_profile(file)
    assert "\n" not in str(caught.value)


def test_a_truncated_profile_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    write_profile(file, profile())
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(ProfileError, match="JSON"):
        read_profile(file)


def test_a_file_of_more_than_64_mib_is_not_parsed(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    with file.open("wb") as handle:
        handle.truncate(65 * 2**20)
    with pytest.raises(ProfileError, match="larger than 64 MiB"):
        read_profile(file)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=8), each, max_size=3)
    ),
    max_leaves=8,
)
NAMES = ["schema", "device", "results.0", "results.0.median_s", "results.0.shape", "environment"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(NAMES), JSON)
def test_any_value_in_any_place_is_read_or_refused(tmp_path: Path, path: str, value: Any) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps(changed(path, value)))
    with contextlib.suppress(ProfileError):
        assert read_profile(file).schema == SCHEMA
