"""The step of a plan that rests on a profile: what was measured, what curves say, what it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.engine.batch import Batch, splits_data_alone
from planner.engine.formats import ATTENTION, MATMUL
from planner.planning.intervals import Spread, table
from planner.planning.nodes import measured_network
from planner.quantities import show_rate

if TYPE_CHECKING:
    from planner.planning.scenario import Scenario
    from planner.profile_device.device import ProfiledDevice
    from planner.profile_device.links import MeasuredLink
    from planner.profile_device.step import ProfiledStep
    from planner.profile_device.transfer import Transfer

MOST_LEFT_OUT = 0.2  # median error of left-out products beyond which a profile is doubtful
_FORWARD = ("matmul", "attention", "elementwise")  # parts of which recomputation repeats a share


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """The device's parts of one optimizer step, and what they rest on; seconds."""

    parts: Mapping[str, float]  # they add up to the step
    measured: float  # by shapes that were measured themselves
    curves: float  # by curves through measured sizes
    lacking: Mapping[str, str]  # parts that the profile has no kernel for, and what it lacks
    kernels: bool  # whether the work of a device is that of the profile's kernels
    link: MeasuredLink | None  # that communication is reckoned by; None = published, or none needed
    link_operations: tuple[str, ...]  # the collectives of that link that the layout uses
    device: ProfiledDevice
    spread: Spread

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def by_formulas(self) -> float:
        """Seconds by the formulas fitted to published runs, at the measured rates."""
        return max(self.total - self.measured - self.curves, 0.0)


def measured_step(
    each: Scenario, batch: Batch, engine: Mapping[str, float], prior: Spread
) -> MeasuredStep | None:
    """The step of a batch of one; None for a run without a profile.

    `engine` is the step by the engine's formulas at the measured rates, seconds by part: it
    answers what the profile has no kernel for, and whole where a model is split over devices.
    `prior` is the spread of such answers.
    """
    device = each.device
    if device is None:
        return None
    from planner.profile_device.parallel import at_once, link_of, linked_parts, operations

    link = None
    if each.num_devices > 1:
        engine, link = linked_parts(batch, device.figures), link_of(batch, device.figures)
    if not splits_data_alone(batch):
        return MeasuredStep(
            parts=dict(engine),
            measured=0.0,
            curves=0.0,
            lacking={},
            kernels=False,
            link=link,
            link_operations=operations(batch),
            device=device,
            spread=_wider(prior, device.transfer),
        )
    found = _profiled(each, batch, device)
    if link is not None:
        found = at_once(found, link)
    parts = {**engine, **found.parts}
    again = _repeated(engine, parts)
    parts["recompute"] = again
    curves = found.total + again - found.measured
    lacking = {name: what for name, what in found.lacking.items() if parts.get(name)}
    shares = {"curves": curves, "formulas": sum(parts.values()) - curves - found.measured}
    total = sum(parts.values())
    return MeasuredStep(
        parts=parts,
        measured=found.measured,
        curves=curves,
        lacking=lacking,
        kernels=True,
        link=link,
        link_operations=operations(batch),
        device=device,
        spread=_spread(each, device, {name: s / total for name, s in shares.items()}, prior),
    )


def _profiled(each: Scenario, batch: Batch, device: ProfiledDevice) -> ProfiledStep:
    """The step by the profile's kernels, of a transformer or of a traced module."""
    from planner.profile_device.module_step import profiled_module
    from planner.profile_device.step import profiled_step

    training = each.run.training
    step = profiled_step if each.model.table is None else profiled_module
    return step(batch, device.figures, precision=training.precision, optimizer=training.optimizer)


def _repeated(engine: Mapping[str, float], parts: Mapping[str, float]) -> float:
    """Recomputation: the share of the layers' work that the engine repeats, of the measured."""
    work = sum(engine[name] for name in _FORWARD)
    return engine["recompute"] * sum(parts[name] for name in _FORWARD) / work if work else 0.0


def _spread(
    each: Scenario, device: ProfiledDevice, shares: Mapping[str, float], prior: Spread
) -> Spread:
    """Errors of one kind go together over a step, errors of different kinds in squares.

    Curves err as products left out of the fit did, formulas as published runs did, and a step
    errs beyond that as steps of one device, or of several, that were planned from a profile and
    then measured did.
    """
    from planner.profile_device.quality import parallel_sigma, step_sigma

    curve = curve_sigma(each, device)
    if curve is None:
        curve = math.hypot(prior.sigma, table("time")["unmeasured_rate"])
    whole = step_sigma() if each.num_devices == 1 else max(parallel_sigma(), step_sigma())
    parts = (shares["curves"] * curve, shares["formulas"] * prior.sigma, whole)
    return _wider(Spread(sigma=math.hypot(*parts)), device.transfer)


def curve_sigma(each: Scenario, device: ProfiledDevice) -> float | None:
    """What curves of the run's format err by: standard deviation of the logarithm. None where too
    few shapes were measured to say."""
    from planner.profile_device.quality import sigma_of

    row = device.left_out(ATTENTION[each.run.training.precision])
    return None if row is None else sigma_of(row)


def _wider(spread: Spread, transfer: Transfer | None) -> Spread:
    return spread if transfer is None else Spread(sigma=math.hypot(spread.sigma, transfer.sigma))


def grade_of(made: MeasuredStep) -> str:
    """measured | extrapolated"""
    return "measured" if made.device.transfer is None else "extrapolated"


def reasons_of(each: Scenario, made: MeasuredStep) -> Iterator[str]:
    """What was measured, when and where, what it answers, and how far it errs."""
    recorded, transfer = made.device.figures.recorded, made.device.transfer
    if transfer is None:
        yield f"measured here on {recorded.device_name}, profile of {recorded.created}"
    else:
        yield _scaled(transfer, recorded.created)
    if each.num_devices > 1:
        yield _between(each, made)
    if made.kernels:
        yield _rests(made)
        for name, lack in made.lacking.items():
            yield f"{name.replace('_', ' ')}: the profile did not time {lack}"
    yield from _errors(each, made.device)


def _between(each: Scenario, made: MeasuredStep) -> str:
    """What the work of several devices and the communication between them rest on."""
    work = (
        "the profile is of one device, and each does the whole work of its samples"
        if made.kernels
        else "rates of products and memory are those of one device; attention and waiting follow "
        "published runs"
    )
    if made.link is None:
        return f"{work}; {_without_link(each, made)}"
    group = made.link.group
    rate = show_rate(made.link.bytes_per_second(*made.link_operations), "B")
    backend = f" ({group.backend})" if group.backend else ""
    return (
        f"{work}; communication by collectives measured among {group.ranks} ranks{backend}: "
        f"{rate} of bus bandwidth{_slowdown(made.link)}"
    )


def _without_link(each: Scenario, made: MeasuredStep) -> str:
    if each.devices_per_node == 1 and measured_network(each.run, made.device) is not None:
        return "communication by collectives measured between nodes"
    return "communication follows published links and runs"


def _slowdown(link: MeasuredLink) -> str:
    """Of what was timed with all ranks at work."""
    from profiles.at_once import COPY, PRODUCT

    words, slower = {PRODUCT: "a product", COPY: "a copy"}, link.slower
    said = [f"{each} takes {slower[name]:.2f}" for name, each in words.items() if name in slower]
    return f"; with all of them at work {', '.join(said)} times as long as alone" if said else ""


def _rests(made: MeasuredStep) -> str:
    shares = {
        "shapes that were measured": made.measured,
        "curves through measured sizes": made.curves,
        "formulas for what the profile lacks": made.by_formulas,
    }
    said = ", ".join(
        f"{100 * seconds / made.total:.0f} % on {what}" for what, seconds in shares.items()
    )
    return f"the step's time rests {said}"


def _scaled(transfer: Transfer, created: str) -> str:
    peaks = ", ".join(f"{name} x{ratio:.3g}" for name, ratio in transfer.peaks.items())
    reached = ", ".join(transfer.reached)
    known = f", as far as others measured them reached in {reached}" if reached else ""
    return (
        f"measured on {transfer.source}, profile of {created}, and scaled to {transfer.target} by "
        f"published peaks ({peaks}{known}) and memory bandwidth (x{transfer.bandwidth:.3g}), "
        "launches as measured; profiles carried over were off by a factor of "
        f"{math.exp(transfer.sigma):.2f} (one standard deviation)"
    )


def warnings_of(each: Scenario, made: MeasuredStep) -> Iterator[str]:
    """A profile whose curves miss its own measurements, as one of a busy machine does; processes
    that share what the profile's one had alone."""
    if each.devices_per_node > 1 and made.device.figures.recorded.kind == "cpu":
        threads = made.device.figures.recorded.threads
        own = f"{threads} cores" if threads and threads > 1 else "a core"
        timed = made.link is not None and made.link.slower
        yield (
            f"each of the {each.devices_per_node} processes of a machine needs {own} of its own"
            + ("" if timed else "; the profile's had the memory's bandwidth to itself")
        )
    if made.link is not None and made.link.group.ranks < each.devices_per_node:
        num = each.devices_per_node
        yield (
            f"{num} devices share a node, collectives were measured among {made.link.group.ranks}: "
            f"measure them among all (torchrun --nproc-per-node {num} -m profiles.collectives)"
        )
    number_format = MATMUL[each.run.training.precision]
    row = made.device.left_out(number_format)
    if row is not None and row["median"] > MOST_LEFT_OUT:
        yield (
            f"the profile misses {number_format} products left out of its fit by "
            f"{100 * row['median']:.0f} % (median): it was probably taken on a busy machine; "
            "measure again when nothing else runs (forerun profile)"
        )


def _errors(each: Scenario, device: ProfiledDevice) -> Iterator[str]:
    """The profile's own error on products that it was not shown."""
    precision = each.run.training.precision
    for number_format in dict.fromkeys((MATMUL[precision], ATTENTION[precision])):
        row = device.left_out(number_format)
        if row is None:
            yield f"too few {number_format} products to say what its curve errs by"
        else:
            yield (
                f"{number_format} products left out of its fit in turn: median error "
                f"{100 * row['median']:.1f} %, 90 % under {100 * row['p90']:.1f} % "
                f"({row['n']:.0f} shapes)"
            )
