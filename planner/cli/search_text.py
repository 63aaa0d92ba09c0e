"""`forerun search` for a person to read: the best, why, how surely, and what else there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.cli.bars import line, paint
from planner.cli.output import print_table, warn
from planner.quantities import (
    show_bytes,
    show_duration,
    show_energy,
    show_interval,
    show_percent,
    show_usd,
)

DEGREES = ("tp", "pp", "cp", "ep", "dp")
LISTED = 6  # rows of a list of candidates
TELLING = ("machine", "price", "attention", "loss", "compile")  # shown where rows differ in them


def show(answer: dict[str, Any]) -> None:
    """Print the answer of a search; warnings go to standard error."""
    if answer["best"]:
        sections = [_best(answer), _against(answer), _relaxing(answer), _robustness(answer)]
    else:
        sections = [_nearest(answer)]
    print("\n".join("\n".join(lines) for lines in map(list, sections) if lines))
    for name, rows in answer["best_by"].items():
        _candidates(f"Best with each {name.replace('_', ' ')}", rows)
    if len(answer["pareto"]) > 1:
        _candidates("Not beaten in time, cost and energy at once", answer["pareto"])
    _candidates("Next best on the same machine", answer["alternatives"])
    _excluded(answer["excluded"])
    print("\n" + _counted(answer["candidates"]))
    for text in _study(answer["study"]):
        print(text)
    for text in answer["warnings"]:
        warn(text)


def _counted(counts: dict[str, Any]) -> str:
    rate = counts["per_second"]
    speed = f" ({rate:,.0f} a second)" if rate else ""
    return (
        f"{counts['evaluated']:,} of {counts['valid']:,} valid candidates evaluated in "
        f"{counts['seconds']:.2g} s{speed}"
    )


def _study(study: dict[str, Any] | None) -> Iterator[str]:
    """What the trials found against the exact answer."""
    if study is None:
        return
    yield ""
    yield paint(f"By {study['trials']:,} trials of the study {study['name']}", "bold")
    if not study["complete"]:
        yield line("", "interrupted: the same --study goes on where it is stored", column=0)
    if study["best"] is None:
        yield line("best", "no trial fits within the limits", column=12)
        return
    yield line("best", _brief(study["best"]), column=12)
    if study["regret"] is not None:
        yield line("regret", f"{show_percent(study['regret'])} behind the exact best", column=12)
    if study["hypervolume"] is not None:
        yield line(
            "hypervolume", f"{show_percent(study['hypervolume'])} of the exact front's", column=12
        )
    if study["importance"]:
        shares = [f"{name} {show_percent(share)}" for name, share in study["importance"].items()]
        yield line("importance", ", ".join(shares[:LISTED]), column=12)


def _best(answer: dict[str, Any]) -> Iterator[str]:
    best = answer["best"]
    run, cost, energy, memory = best["run"], best["cost"], best["energy"], best["memory"]
    yield paint(
        f"Best by {answer['by']}: {answer['model']} on {best['count']:,} x {best['sku']}", "bold"
    )
    peak = show_interval(show_bytes, memory["peak_bytes"], memory["low"], memory["high"])
    chance = f"fits with probability {_probability(best['fit_probability'])}"
    yield line("memory", f"{peak} of {show_bytes(memory['capacity_bytes'])}: {chance}")
    took = show_interval(show_duration, run["seconds"], run["low"], run["high"])
    yield line(
        "time", f"{took}: {run['steps']:,} steps of {show_duration(best['step']['seconds'])}"
    )
    yield line("cost", _cost(cost))
    if energy["kwh"] is not None:
        kwh = show_interval(show_energy, energy["kwh"], energy["low"], energy["high"])
        yield line("energy", kwh)
    yield from _settings(best["chosen"])
    yield from _penalty(best["penalty"])


def _probability(value: float) -> str:
    """Whole per cents, never a certainty."""
    return "above 99 %" if value > 0.99 else show_percent(value)


def _cost(cost: dict[str, Any]) -> str:
    if cost["usd"] is None:
        return f"unknown: {cost['reason']}"
    total = show_interval(show_usd, cost["usd"], cost["low"], cost["high"])
    return f"{total} at {show_usd(cost['per_device_hour'])} per device-hour, {cost['provider']}"


def _settings(chosen: dict[str, Any]) -> Iterator[str]:
    layout = chosen["layout"]
    degrees = " ".join(f"{name} {layout[name]}" for name in DEGREES if layout[name] > 1)
    if layout["interleave"] > 1:
        degrees += f" interleave {layout['interleave']}"
    sharding = "" if layout["sharding"] == "none" else f", sharding {layout['sharding']}"
    yield line("layout", f"{degrees or 'one device'}{sharding}")
    yield line(
        "batch",
        f"{chosen['global_batch']:,} sequences = micro-batch {chosen['micro_batch']} x "
        f"accumulation {chosen['accumulation']} x dp {layout['dp']}",
    )
    words = ("precision", "recompute", "attention", "loss", "compile")
    yield line("training", ", ".join(f"{word} {chosen[word]}" for word in words))


def _penalty(penalty: dict[str, Any] | None) -> Iterator[str]:
    for name, row in (penalty or {}).items():
        if row is None:
            continue
        high = "an unknown number of" if row["high"] is None else f"{row['high']:.3g} times the"
        more = "no more" if row["factor"] == 1 else f"{row['factor']:.3g} times the"
        text = f"takes {more} tokens for an equal loss, at most {high} tokens"
        reason = f" ({row['reason']})" if row.get("reason") else ""
        yield line("loss", f"this {name} {text}{reason}")


def _against(answer: dict[str, Any]) -> Iterator[str]:
    """The best against the run as it stands."""
    stated, best = answer["as_stated"], answer["best"]
    if stated is None:
        return
    if "error" in stated:
        yield line("as stated", f"cannot run: {stated['error']}", column=11)
        return
    fits = "" if stated["fits"] else ", which does not fit"
    change = best["run"]["seconds"] / stated["seconds"] - 1
    text = f"{show_duration(stated['seconds'])}{fits}: the best takes {_changed(change)}"
    yield line("as stated", text, column=11)


def _changed(share: float) -> str:
    """A change of the time in words."""
    if abs(share) < 0.005:
        return "as long"
    return f"{show_percent(abs(share))} {'less' if share < 0 else 'more'}"


def _relaxing(answer: dict[str, Any]) -> Iterator[str]:
    binding = [row for row in answer["relaxing"] if row["binds"]]
    if not binding:
        names = ", ".join(row["limit"] for row in answer["relaxing"])
        yield line("limits", f"none binds: a tenth more of {names} buys nothing")
    for row in binding:
        text = (
            f"a tenth more of {row['limit']} buys {show_percent(row['gain'])} ({_brief(row['to'])})"
        )
        yield line("limits", text)


def _robustness(answer: dict[str, Any]) -> Iterator[str]:
    drawn = answer["robustness"]
    if drawn is None or drawn["median_loss"] is None:
        return
    best, median = show_percent(drawn["stays_best"]), show_percent(drawn["median_loss"])
    text = (
        f"best in {best} of {drawn['draws']} draws of the model's error against "
        f"{drawn['rivals'] - 1} rivals; behind the draw's best by {median} at the median, "
        f"{show_percent(drawn['p90_loss'])} in one draw of ten"
    )
    yield line("robust", text)
    if drawn["runner_up"]:
        share, rival = show_percent(drawn["runner_up_share"]), drawn["runner_up"]
        doubt = "" if rival["sure"] else "; not chosen, as it is not sure to fit"
        yield line("rival", f"{_brief(rival)}: best in {share}{doubt}")


def _nearest(answer: dict[str, Any]) -> Iterator[str]:
    """No answer: the nearest, what it breaks, and which limit to relax by how much."""
    yield paint(f"No candidate of {answer['model']} keeps every limit", "red")
    nearest = answer["nearest"]
    if nearest is None:
        return
    found = nearest["candidate"]
    yield line("nearest", f"{found['count']:,} x {found['sku']}", column=10)
    yield from _settings(found["chosen"])
    for row in nearest["violated"]:
        yield line("breaks", _relaxed(row), column=10)
    for row in nearest["alone"]:
        yield line("or alone", _relaxed(row), column=10)
    short = nearest["shortfall"]
    if short and short["nearest"]:
        yield line("would fit", short["nearest"]["change"], column=10)


def _relaxed(row: dict[str, Any]) -> str:
    amounts = f"{_amount(row['limit'], row['from'])} to {_amount(row['limit'], row['to'])}"
    return f"{row['limit']} from {amounts} ({row['factor']:,.3g} times)"


def _amount(limit: str, value: float) -> str:
    if limit == "budget.usd":
        return show_usd(value)
    if limit == "budget.kwh":
        return show_energy(value)
    return show_percent(value) if limit == "memory" else show_duration(value * 86_400)


def _candidates(title: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    listed = [_cells(row) for row in rows[:LISTED]]
    columns = [name for name in listed[0] if name not in TELLING or _differ(listed, name)]
    print()
    print_table(paint(title, "bold"), columns, [[row[name] for name in columns] for row in listed])
    if len(rows) > LISTED:
        print(f"{len(rows) - LISTED} more with --json")


def _cells(row: dict[str, Any]) -> dict[str, str | None]:
    """What a list shows of a candidate, by the name of its column."""
    return {
        "machine": f"{row['count']:,} x {row['sku']}",
        "price": row["price_mode"],
        "precision": row["precision"],
        "layout": _layout(row),
        "recompute": row["recompute"],
        "attention": row["attention"],
        "loss": row["loss"],
        "compile": row["compile"],
        "batch": f"{row['micro_batch']} x {row['accumulation']}",
        "run": show_duration(row["seconds"]) if row["fits"] else None,
        "cost": None if row["usd"] is None or not row["fits"] else show_usd(row["usd"]),
        "memory": show_percent(row["memory_share"]),
    }


def _differ(rows: list[dict[str, str | None]], column: str) -> bool:
    return len({row[column] for row in rows}) > 1


def _layout(row: dict[str, Any]) -> str:
    degrees = [f"{name}{row[name]}" for name in DEGREES if row[name] > 1]
    degrees += [f"v{row['interleave']}"] if row["interleave"] > 1 else []
    return " ".join([*degrees, row["sharding"]])


def _brief(row: dict[str, Any]) -> str:
    return (
        f"{row['count']:,} x {row['sku']} {row['precision']} {_layout(row)}, recompute "
        f"{row['recompute']}, micro-batch {row['micro_batch']}, {show_duration(row['seconds'])}"
    )


def _excluded(excluded: list[dict[str, Any]]) -> None:
    if excluded:
        print("\n" + paint("Left out", "bold"))
    for row in excluded[:LISTED]:
        counts = ", ".join(map(str, row["counts"]))
        words = f" {row['words']}" if row["words"] else ""
        print(line("", f"{counts} x {row['sku']}{words}: {row['reason']}", column=0))
