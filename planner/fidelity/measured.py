"""What was measured of a published run, and what a fit may want to know about it."""

from __future__ import annotations

from planner.engine.configuration import Configuration
from planner.errors import PlannerError
from planner.fidelity.bridge import BridgeRecipe
from planner.fidelity.case import Traits
from planner.fidelity.draft import Draft


def seconds(draft: Draft, configuration: Configuration) -> float | None:
    """Seconds of a step: as stated, else from tokens per second and device."""
    stated = draft.row.quantity("step_time_s")
    rate = draft.row.quantity("tokens_per_s_per_gpu")
    tokens = configuration.tokens_per_step
    derived = tokens / (rate * configuration.num_devices) if rate else None
    if stated and derived and abs(derived / stated - 1) > 0.05:
        draft.remark(f"step time {stated:g} s and tokens/s ({derived:.4g} s) disagree")
    return stated if stated is not None else derived


def peak_bytes(draft: Draft) -> float | None:
    """Peak of the fullest device; the column is GiB unless the notes say that it holds GB."""
    peak = draft.row.quantity("peak_mem_gib")
    if peak is None:
        return None
    return peak * (1e9 if draft.notes.gigabytes else 2**30)


def mfu(draft: Draft) -> float | None:
    """Published utilisation as a fraction. Raises PlannerError above 100 %."""
    percent = draft.row.quantity("mfu_pct")
    if percent is not None and percent > 100:
        raise PlannerError("mfu_pct", percent, "above 100 % is impossible")
    return None if percent is None else percent / 100


def meter(draft: Draft) -> str:
    """What the stack's printed peak counts; empty when the row has none."""
    if draft.row.quantity("peak_mem_gib") is None:
        return ""
    return str(draft.practice.settings.get("meter", draft.practice.stack.meter))


def traits(draft: Draft, configuration: Configuration, recipe: BridgeRecipe | None) -> Traits:
    """Kernels, formats and schedule of the run, from its notes, recipe and stack."""
    stack, notes = draft.practice.stack, draft.notes
    return Traits(
        stack=stack.name,
        year=configuration.year,
        release=notes.release,
        flash="none" if configuration.attention != "flash" else stack.flash,
        fp8_recipe=_fp8_recipe(draft),
        cuda_graphs=recipe.cuda_graphs if recipe else ("full" if stack.cuda_graphs else "none"),
        kernels=stack.kernels,
        launch=stack.launch,
        dispatcher=recipe.dispatcher if recipe else "",
        expert_overlap=recipe.expert_overlap if recipe else False,
        token_drop=notes.token_drop,
        quantization=notes.quantization,
        mixed_precision=notes.mixed_precision,
        offloaded_layers=recipe.offloaded_layers if recipe else 0,
        recomputed_modules=recipe.modules if recipe else (),
        optimizer_in_backward=notes.optimizer_in_backward
        or bool(draft.practice.settings.get("optimizer_in_backward", False)),
        paged_optimizer=_paged(draft, configuration),
        full_weights_at_load=configuration.sharding == "zero3"
        and bool(draft.practice.settings.get("full_weights_at_load", False)),
        reserved_bytes=None if notes.reserved_gib is None else notes.reserved_gib * 2**30,
    )


def _paged(draft: Draft, configuration: Configuration) -> bool:
    """Whether the 8-bit Adam of this run is bitsandbytes' paged one."""
    paged = bool(draft.practice.settings.get("paged_optimizer", False))
    return paged and configuration.optimizer == "adamw8bit"


def _fp8_recipe(draft: Draft) -> str:
    if draft.row.text("precision").lower() not in ("fp8", "nvfp4"):
        return ""
    usual = draft.practice.settings.get("fp8_recipe", "delayed")
    return draft.notes.fp8_recipe or str(usual)
