"""Background work: one job a name, its progress, its failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ui.jobs import Jobs


def test_a_job_of_the_same_name_is_started_once() -> None:
    ready, jobs = threading.Event(), Jobs()
    first = jobs.get("a", lambda progress: ready.wait(10))
    assert jobs.get("a", lambda progress: None) is first
    assert first.state == "running"
    ready.set()
    first.join(10)
    assert (first.state, first.result) == ("done", True)


def test_a_failure_is_kept_and_can_be_forgotten() -> None:
    def fail(progress: object) -> None:
        raise RuntimeError("no table")

    jobs = Jobs()
    job = jobs.get("a", fail)
    job.join(10)
    assert (job.state, str(job.error)) == ("failed", "no table")
    jobs.forget("a")
    assert jobs.get("a", lambda progress: 1) is not job


def test_a_cancelled_job_ends_where_it_reports() -> None:
    going, jobs = threading.Event(), Jobs()

    def count(progress: Callable[[int, int], None]) -> None:
        for done in range(10_000):
            progress(done, 10_000)
            going.set()
            time.sleep(0.001)

    job = jobs.get("a", count)
    assert going.wait(10)
    job.cancel()
    job.join(10)
    assert job.state == "cancelled"
    assert job.result is None


def test_of_the_jobs_that_ended_the_oldest_are_forgotten() -> None:
    jobs = Jobs(most=2)
    first = [jobs.get(str(number), lambda progress: None) for number in range(3)]
    for job in first:
        job.join(10)
    jobs.get("new", lambda progress: None).join(10)
    assert jobs.get("2", lambda progress: None) is first[2]
    assert jobs.get("0", lambda progress: None) is not first[0]


def test_what_work_reports_beside_its_progress_can_be_shown() -> None:
    job = Jobs().get("a", lambda progress: progress(1, 2, "half"))
    job.join(10)
    assert (job.progress, job.news) == ((1, 2), "half")


def test_work_that_catches_the_interrupt_gives_what_it_has() -> None:
    go = threading.Event()

    def work(progress: Callable[[int, int], None]) -> str:
        go.wait(10)
        try:
            progress(1, 2)
        except KeyboardInterrupt:
            return "the best so far"
        return "everything"

    job = Jobs().get("a", work)
    job.cancel()
    assert job.stopping
    go.set()
    job.join(10)
    assert (job.state, job.result, job.stopping) == ("done", "the best so far", False)


def test_a_job_waits_for_a_free_slot_and_can_be_cancelled_meanwhile() -> None:
    go, jobs = threading.Event(), Jobs(at_once=1)
    first = jobs.get("a", lambda progress: go.wait(10))
    second = jobs.get("b", lambda progress: "second")
    third = jobs.get("c", lambda progress: "third")
    third.cancel()
    third.join(10)
    assert (third.state, second.state, second.waiting) == ("cancelled", "running", True)
    go.set()
    for job in (first, second):
        job.join(10)
    assert (second.result, second.waiting) == ("second", False)
