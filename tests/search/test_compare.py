"""Accelerators ranked for a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hardware_db
from planner.errors import PlannerError
from planner.planning.plan import plan
from planner.run import Run
from planner.search.compare import Filters, compare
from tests.search.jobs import job

SKUS = ("h100-sxm5-80gb", "a100-sxm4-80gb", "b200-sxm6-180gb", "rtx-4090", "t4", "epyc-7763")


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    return compare(job(hardware__sku=None), filters=Filters(skus=SKUS))


def test_every_accelerator_is_ranked_or_excluded_with_a_reason(answer: dict[str, Any]) -> None:
    ranked = [row["sku"] for row in answer["ranking"]]
    excluded = {row["sku"]: row["reason"] for row in answer["excluded"]}
    assert sorted([*ranked, *excluded]) == sorted(SKUS)
    assert all(excluded.values())
    assert all(row["why"] for row in answer["ranking"])


def test_the_fastest_is_first_and_what_does_not_fit_last(answer: dict[str, Any]) -> None:
    fitting = [row for row in answer["ranking"] if row["fits"]]
    assert answer["ranking"][: len(fitting)] == fitting
    seconds = [row["run"]["seconds"] for row in fitting]
    assert seconds == sorted(seconds)
    assert fitting[0]["sku"] == "b200-sxm6-180gb"
    assert fitting[0]["why"] == "best by time"


def test_by_cost_the_cheapest_is_first() -> None:
    rows = compare(job(hardware__sku=None), filters=Filters(skus=SKUS), by="cost")["ranking"]
    usd = [row["cost"]["usd"] for row in rows if row["fits"]]
    assert usd == sorted(usd)


def test_where_the_number_is_open_time_and_cost_decide_together() -> None:
    run = job("gpt2-124m", hardware__sku=None, hardware__count=None, data__tokens=10**10)
    found = compare(run, filters=Filters(skus=SKUS))
    assert found["by"] == "value"
    assert "the number of devices is open" in found["by_reason"]
    worth = [r["run"]["seconds"] * r["cost"]["usd"] for r in found["ranking"] if r["cost"]["usd"]]
    assert worth == sorted(worth)
    assert found["ranking"][0]["count"] < max(
        each["count"] for each in found["ranking"][0]["counts"]
    )
    reasons = [row["why"] for row in found["ranking"][1:] if row["fits"]]
    assert all("the time" in why and "the cost" in why for why in reasons)


def test_a_deadline_alone_asks_for_the_cheapest_and_a_budget_alone_for_the_fastest() -> None:
    given = {"filters": Filters(skus=SKUS[:3]), "counts": [8, 16, 32]}
    deadline = compare(job(hardware__sku=None, budget__days=60), **given)
    assert deadline["by"] == "cost"
    assert "a deadline and no budget" in deadline["by_reason"]
    for row in deadline["ranking"]:
        cheapest = min(each["usd"] for each in row["counts"] if each["within_limits"])
        faster = [each for each in row["counts"] if each["seconds"] < row["run"]["seconds"]]
        assert row["cost"]["usd"] <= cheapest * 1.01
        assert all(each["usd"] > cheapest * 1.01 for each in faster)
    assert compare(job(hardware__sku=None, budget__usd=10**6), **given)["by"] == "time"
    assert compare(job(hardware__sku=None), by="energy", **given)["by_reason"] is None


def test_what_is_owned_is_ranked_without_its_price() -> None:
    owned = Filters(skus=("h100-sxm5-80gb", "h800-sxm5-80gb"), owned=True)
    found = compare(job(hardware__sku=None), filters=owned, counts=[8, 16])
    assert found["weights"] == {"time": 1.0, "energy": 1.0}
    assert hardware_db.price_for("h800-sxm5-80gb") is None
    assert "the energy" in found["ranking"][1]["why"]


def test_each_number_of_devices_states_its_settings_and_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    found = compare(
        job(),
        filters=Filters(skus=("h100-sxm5-80gb",)),
        counts=[8, 16],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (found["candidates"]["evaluated"],) * 2
    for each in found["ranking"][0]["counts"]:
        settings = {
            "hardware.count": each["count"],
            "training.layout": {
                name: each[name] for name in ("tp", "pp", "cp", "ep", "interleave", "sharding")
            },
            **{
                f"training.{name}": each[name]
                for name in ("micro_batch", "recompute", "stack", "loss")
            },
        }
        assert plan(job().changed(settings)).run.seconds == pytest.approx(each["seconds"])


def test_a_row_is_what_a_plan_says(answer: dict[str, Any]) -> None:
    row = next(row for row in answer["ranking"] if row["sku"] == "h100-sxm5-80gb")
    chosen = row["chosen"]
    run = job().changed(
        {
            "hardware.count": row["count"],
            "training.layout": {n: v for n, v in chosen["layout"].items() if n != "dp"}
            | ({} if chosen["layout"]["tp"] > 1 else {"sequence_parallel": "auto"}),
            "training.micro_batch": chosen["micro_batch"],
            "training.recompute": chosen["recompute"],
            "training.stack": chosen["stack"],
            "training.loss": chosen["loss"],
        }
    )
    assert plan(run).run.seconds == pytest.approx(row["run"]["seconds"], rel=1e-9)


def test_a_part_without_room_stays_last_with_the_shortage() -> None:
    run = job("llama-3-70b", hardware__sku=None, hardware__count=8)
    rows = compare(run, filters=Filters(skus=("h100-sxm5-80gb", "t4")))["ranking"]
    assert [row["fits"] for row in rows].count(False) >= 1
    assert not rows[-1]["fits"]
    assert rows[-1]["why"].startswith("memory")


def test_counts_are_tried_and_listed() -> None:
    found = compare(
        job(hardware__sku=None, hardware__count=None),
        filters=Filters(skus=("h100-sxm5-80gb",)),
        counts=[4, 8, 16],
    )
    (row,) = found["ranking"]
    assert [each["count"] for each in row["counts"]] == [4, 8, 16]
    assert row["count"] == 16
    assert found["pareto"][0]["count"] == 16


def test_a_precision_that_a_part_lacks_excludes_it() -> None:
    found = compare(
        job(hardware__sku=None, training__precision="fp8"),
        filters=Filters(skus=("h100-sxm5-80gb", "a100-sxm4-80gb")),
    )
    assert [row["sku"] for row in found["ranking"]] == ["h100-sxm5-80gb"]
    (left,) = found["excluded"]
    assert "fp8" in left["reason"]


def test_filters_leave_out_with_a_reason() -> None:
    found = compare(
        job(hardware__sku=None, price__provider="aws"),
        filters=Filters(skus=SKUS, min_memory=40 * 1024.0**3),
    )
    reasons = {row["sku"]: row["reason"] for row in found["excluded"]}
    assert "at least 40 GiB" in reasons["t4"]
    for row in found["ranking"]:
        assert hardware_db.price_for(row["sku"], "aws") is not None
    with pytest.raises(PlannerError, match="the filters leave none"):
        compare(job(hardware__sku=None), filters=Filters(skus=("t4",), min_memory=1e12))


def test_a_number_unknown_is_null_not_zero() -> None:
    run = job(hardware__sku=None, hardware__count=8)
    rows = compare(run, filters=Filters(skus=("gaudi2-96gb",)), by="cost")["ranking"]
    if hardware_db.price_for("gaudi2-96gb") is None:
        assert rows[0]["cost"]["usd"] is None
        assert "cannot be ranked by cost" in rows[0]["why"]


def test_the_command_prints_json_and_a_table(forerun: Callable[..., Any]) -> None:
    words = ["--model", "llama-3-8b", "--tokens", "1e11", "--seq-len", 4096, "--global-batch", 256]
    words += ["--skus", "h100-sxm5-80gb,t4,a100-80gb", "--counts", "8,16"]
    answer = forerun("compare", *words, "--json").json
    assert {"ranking", "pareto", "excluded"} <= set(answer)
    for name in ("sku", "count", "fits", "verdict", "chosen", "step", "run", "cost", "why"):
        assert name in answer["ranking"][0]
    text = forerun("compare", *words, "--by", "value").out
    assert "Best by value" in text
    assert "h100-sxm5-80gb" in text


def test_a_run_without_a_model_is_refused() -> None:
    with pytest.raises(PlannerError, match="model"):
        compare(Run(), filters=Filters(skus=("t4",)))
