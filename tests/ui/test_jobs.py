"""Background work: one job a name, its progress, its failure."""

from __future__ import annotations

import threading

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
