"""`forerun plan` for a person to read: the answer first, then what it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from planner.cli.bars import bars, in_one_unit, line, paint
from planner.cli.output import warn
from planner.cli.plan_headline import headline, limits, shortfall
from planner.quantities import (
    show_bytes,
    show_count,
    show_duration,
    show_flops,
    show_interval,
    show_percent,
    show_rate,
    show_usd,
)

if TYPE_CHECKING:
    from planner.planning.plan import Planned
    from planner.planning.result import Plan

_UNIT_SECONDS = {"days": 86_400.0, "h": 3600.0, "min": 60.0, "s": 1.0}
_LAYOUT_WORDS = ("tp", "pp", "cp", "ep", "dp")


def show(made: Planned, answer: dict[str, Any]) -> None:
    """Print a plan; warnings go to standard error."""
    plan = made.plan
    sections = [
        headline(plan),
        limits(plan),
        shortfall(plan),
        _setting(plan),
        _step(plan),
        _memory(plan),
        _run(plan),
        _evidence(plan),
        _advice(plan),
        _reported(answer.get("reported")),
        _explained(answer.get("explain")),
    ]
    print("\n\n".join("\n".join(lines) for lines in map(list, sections) if lines))
    for text in plan.warnings:
        warn(text)


def _setting(plan: Plan) -> Iterator[str]:
    """The configuration, and why the planner chose what it did."""
    chosen = plan.chosen
    layout = chosen["layout"]
    degrees = " ".join(f"{name} {layout[name]}" for name in _LAYOUT_WORDS if layout[name] > 1)
    sharding = "" if layout["sharding"] == "none" else f", sharding {layout['sharding']}"
    yield paint("Settings", "bold")
    tokens = chosen["tokens_per_step"]
    batch = (
        f"{chosen['global_batch']:,} {chosen['sample']} = micro-batch {chosen['micro_batch']} x "
        f"accumulation {chosen['accumulation']} x dp {layout['dp']}"
    )
    if tokens is not None:
        batch += f", {show_count(tokens, 'tokens')} a step"
    yield line("batch", batch)
    between = "" if not degrees and not sharding else f"; {chosen['interconnect']}"
    yield line("layout", f"{degrees or 'one device'}{sharding}{between}")
    words: tuple[str, ...] = (
        "precision",
        "optimizer",
        "recompute",
        "attention",
        "loss",
        "compile",
        "offload",
    )
    if tokens is None:  # a traced module's own code decides both
        words = tuple(word for word in words if word not in ("attention", "loss"))
    stated = [f"{word} {chosen[word]}" for word in words if chosen[word] != "none"]
    yield line("task", ", ".join([chosen["task"], *stated]))
    yield line("stack", chosen["stack"])
    if chosen["by_planner"]:
        names = ", ".join(name.replace("_", " ") for name in chosen["by_planner"])
        best = "fastest that fits" if plan.fits else "nearest to fitting"
        compared = f" ({best} of {chosen['compared']:,})" if _searched(chosen) else ""
        yield line("chosen", f"by the planner: {names}{compared}")
    for name, reason in chosen["reasons"].items():
        yield line("", f"{name.replace('_', ' ')}: {reason}")


def _searched(chosen: dict[str, Any]) -> bool:
    return bool(chosen["compared"] > 1)


def _step(plan: Plan) -> Iterator[str]:
    step, rate = plan.step, plan.throughput
    took = show_interval(show_duration, step.seconds, step.low, step.high)
    yield paint(f"Step {took}", "bold")
    speed = ""
    if rate.tokens_per_second is not None:
        speed += f"{show_rate(rate.tokens_per_second, 'tokens')}, "
    if rate.tokens_per_second is None or plan.chosen["sample"] == "images":
        speed += f"{show_rate(rate.samples_per_second, plan.chosen['sample'])}, "
    if rate.tokens_per_second_per_device is not None:
        speed += f"{show_rate(rate.tokens_per_second_per_device, 'tokens')} per device, "
    else:
        each = show_rate(rate.samples_per_second_per_device, plan.chosen["sample"])
        speed += f"{each} per device, "
    speed += f"{show_flops(rate.tflops_per_device * 1e12, per_second=True)} per device, "
    speed += f"MFU {show_percent(rate.mfu)}, HFU {show_percent(rate.hfu)} of "
    speed += show_flops(rate.peak_tflops * 1e12, per_second=True)
    yield line("", speed, column=0)
    if step.bottleneck == "input":
        yield line("", "the data loader sets the pace", column=0)
    yield from bars(step.parts, _in_time_unit(step.seconds), whole=step.seconds)


def _in_time_unit(whole: float) -> Callable[[float], str]:
    """Parts of a time, all in the unit that suits the whole."""
    for size, unit in ((2 * 86_400.0, "days"), (2 * 3600.0, "h"), (120.0, "min"), (1.0, "s")):
        if whole >= size:
            return in_one_unit(_UNIT_SECONDS[unit], unit)
    return in_one_unit(1e-3, "ms")


def _memory(plan: Plan) -> Iterator[str]:
    memory = plan.memory
    full = f"{show_bytes(memory.peak_bytes)} of {show_bytes(memory.capacity_bytes)}"
    of_peak = "" if memory.peak_bytes <= memory.capacity_bytes else "; shares of what it needs"
    yield paint(f"Memory {full} on the fullest device{of_peak}", "bold")
    whole = max(memory.capacity_bytes, memory.peak_bytes)
    yield from bars(memory.parts, in_one_unit(1024.0**3, "GiB"), whole=whole)
    extra = [f"checkpoint {show_bytes(memory.checkpoint_bytes)} on disk"]
    if memory.host_bytes_per_node is not None:
        extra.append(f"host memory {show_bytes(memory.host_bytes_per_node)} a node")
    saving = memory.phases.get("saving_full_checkpoint")
    if saving is not None and saving > memory.capacity_bytes:
        extra.append(f"gathering a whole checkpoint on one device takes {show_bytes(saving)}")
    yield line("", "; ".join(extra), column=0)


def _run(plan: Plan) -> Iterator[str]:
    run = plan.run
    took = f"Run {show_duration(run.seconds)}, {show_count(run.device_hours)} device-hours"
    yield paint(f"{took}, {show_percent(run.goodput)} of it progress", "bold")
    yield from bars(run.parts, _in_time_unit(run.seconds), whole=run.seconds)
    epochs = f", {run.epochs:.3g} epochs" if run.epochs else ""
    amount = show_count(run.samples, "samples")
    if run.tokens is not None:
        amount = show_count(run.tokens, "tokens")
    yield line("", f"{amount} in {run.steps:,} steps{epochs}", column=0)
    if plan.stop:
        yield from _stop(plan.stop)


def _stop(stop: dict[str, Any]) -> Iterator[str]:
    """Whether to stop before the end, what that frees, where to evaluate."""
    gain = show_percent(stop["next_doubling_gain"])
    if not stop["within_run"]:
        yield line("stop?", f"not before the end: one more doubling of tokens would gain {gain}")
    else:
        freed, when = stop["freed"], show_duration(stop["seconds"])
        money = "" if freed["usd"] is None else f" or {show_usd(freed['usd'])}"
        yield line(
            "stop?",
            f"from {show_count(stop['tokens'], 'tokens')} on (step {stop['step']:,}, after {when}) "
            f"{stop['rule']}; the rest is {show_count(freed['device_hours'])} device-hours{money}",
        )
        yield line("instead", freed["use"][-1])
    ratio = f"{stop['run_tokens_per_param']:.3g} tokens a parameter at the end"
    yield line("expect", f"{_expected(stop['curve'])}; {ratio}")
    steps = ", ".join(f"{step:,}" for step in stop["next_validation"])
    cost = stop["validation_cost"]
    each = f"{show_count(cost['tokens_each'], 'tokens')} take {show_duration(cost['seconds_each'])}"
    money = "" if cost["usd"] is None else f", all of them {show_usd(cost['usd'])}"
    yield line("evaluate", f"at steps {steps}; {each}{money}")


def _expected(curve: list[dict[str, Any]]) -> str:
    """The loss at every doubling of the tokens up to the end."""
    last = curve[-1]["step"]
    wanted = {math.ceil(last / 2**halvings) for halvings in range(4)}
    told = [
        f"{row['loss']:.3f} at {show_count(row['tokens'])}"
        for row in curve
        if row["step"] in wanted
    ]
    return f"loss {', '.join(told)} tokens, each as a run whose schedule ends there"


def _evidence(plan: Plan) -> Iterator[str]:
    yield line("Evidence", f"{plan.evidence.grade}: {'; '.join(plan.evidence.reasons)}", indent=0)


def _advice(plan: Plan) -> Iterator[str]:
    if plan.advice:
        yield paint("Advice", "bold")
    column = max((len(row["change"]) for row in plan.advice), default=0) + 2
    for row in plan.advice:
        yield line(row["change"], row["effect"], column=column)


def _reported(reported: dict[str, Any] | None) -> Iterator[str]:
    if reported:
        yield line("Reported", reported["says"], indent=0)


def _explained(sections: list[dict[str, Any]] | None) -> Iterator[str]:
    for section in sections or ():
        yield paint(section["title"], "bold")
        for each in section["lines"]:
            yield line("", each, column=0)
        yield ""
