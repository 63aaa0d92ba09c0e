"""The page This machine: what it is, a measurement under way, what a profile says."""

from __future__ import annotations

import dataclasses
import json
from html import escape

import streamlit as st

from planner.errors import PlannerError
from planner.quantities import show_duration, show_flops, show_percent, show_rate, show_whole
from profiles.result import Profile
from ui import machine_controls as controls
from ui import machine_facts as facts
from ui import machine_findings, page_fields, profile_choice, profile_compare, profile_plan
from ui import machine_tables as tables
from ui.charts.profile_ratio import ratio_figure
from ui.charts.roofline import roofline_figure
from ui.headline import Card, card_html
from ui.measuring import Bench
from ui.profile_store import Known
from ui.roofline import Roofline, roofline_of, shape_text
from ui.show import section
from ui.table import to_csv
from ui.text import Words, show_ratio

MOST_PAIRS = 12  # rows of the table of differences; the download has all
Errors = dict[str, dict[str, float]]


@st.cache_resource
def bench() -> Bench:
    """The measuring of this server."""
    return Bench()


def draw(words: Words) -> None:
    """The whole page."""
    st.html(f'<h1 class="fr-title">{escape(words("machine.title"))}</h1>')
    st.html(f'<p class="fr-take">{escape(words("machine.lead"))}</p>')
    page_fields.begin("machine", st.session_state)
    found = facts.devices(bench(), words)
    device = controls.device(found, words)
    facts.draw(device, words)
    controls.measure(bench(), device, words)
    chosen = profile_choice.choose(controls.fresh(bench()), words)
    if chosen.shown is not None:
        shown(chosen.shown, words)
        if chosen.other is not None:
            compared(chosen.shown, chosen.other, words)
        _downloads(chosen.shown, words)


def shown(known: Known, words: Words) -> None:
    """One profile: headline, roofline, memory, findings, quality."""
    profile = known.profile
    found, errors = roofline_of(profile), left_out_errors(known)
    st.subheader(profile_choice.label(known, words), anchor="profile")
    if not profile.complete:
        st.info(words("machine.unfinished"), icon=":material/hourglass_bottom:")
    with st.container(horizontal=True, gap="small"):
        if found.roofs:  # nothing is planned from copies alone
            profile_plan.draw(known, words)
        controls.resume(bench(), known, words)
    body = "".join(map(card_html, headline(profile, found, errors, words)))
    st.html(f'<section class="fr-hero fr-four fr-rates">{body}</section>')
    doubts = machine_findings.doubts(profile, words)
    if doubts:
        st.warning("\n\n".join(doubts), icon=":material/info:")
    _roofline(profile, found, words)
    _findings(profile, words)
    section(
        "traffic",
        words,
        title=words("machine.traffic_title"),
        takeaway=words("machine.traffic_takeaway"),
        figure=None,
        table=tables.traffic(profile, words),
    )
    _links(profile, words)
    _quality(errors, words)


def left_out_errors(known: Known) -> Errors:
    """What the profile's curves err by on products left out of the fit, by format; empty where it
    holds too few shapes."""
    return _errors((known.key, known.profile.created, known.num_measured), known.profile)


@st.cache_data(max_entries=32, show_spinner=False)
def _errors(version: tuple[str, str, int], _profile: Profile) -> Errors:
    from planner.profile_device.figures import figures_of
    from planner.profile_device.quality import left_out

    try:
        return left_out(figures_of(_profile.device, _profile.results))
    except PlannerError:
        return {}


def headline(profile: Profile, found: Roofline, errors: Errors, words: Words) -> tuple[Card, ...]:
    """Best rate, bandwidth, smallest operation, and how far the profile errs."""
    return (
        _best(found, words),
        _memory(found, words),
        _launch(profile, words),
        _worst(errors, words),
    )


def _best(found: Roofline, words: Words) -> Card:
    """Of the formats that training uses."""
    label = words("machine.best_product")
    roofs = [roof for name, roof in found.roofs.items() if name != "int8"]
    if not roofs:
        return Card(name="best_rate", label=label, value=words.number("unknown"))
    best = max(roofs, key=lambda roof: roof.rate)
    return Card(
        name="best_rate",
        label=label,
        value=show_flops(best.rate, per_second=True),
        notes=(f"{best.format.upper()}, {shape_text(best.best)}",),
    )


def _memory(found: Roofline, words: Words) -> Card:
    fast = found.cache
    note = "" if fast is None else words("machine.in_cache", rate=show_rate(fast, "B"))
    return Card(
        name="bandwidth",
        label=words("machine.bandwidth"),
        value=words.number(show_rate(found.memory, "B")),
        notes=(words("machine.largest_copy"), note),
    )


def _launch(profile: Profile, words: Words) -> Card:
    times = [each.median_s for each in profile.find("launch", "fp32")]
    return Card(
        name="launch",
        label=words("machine.smallest"),
        value=words.number(show_duration(times[0] if times else None)),
        notes=(words("machine.smallest_note"),),
    )


def _worst(errors: Errors, words: Words) -> Card:
    label = words("machine.error")
    if not errors:
        note = words("machine.too_few")
        return Card(name="left_out", label=label, value="–", notes=(note,))
    name, worst = max(errors.items(), key=lambda item: item[1]["median"])
    low = words("machine.nine_in_ten", share=show_percent(worst["p90"]))
    return Card(
        name="left_out",
        label=label,
        value=show_percent(worst["median"]),
        notes=(words("machine.worst_format", format=name.upper()), low),
    )


def _roofline(profile: Profile, found: Roofline, words: Words) -> None:
    names = list(found.roofs)
    if not names:
        return
    usual = [name for name in ("fp32", "tf32", "bf16", "fp16") if name in names] or names
    picked = st.pills(
        words("machine.formats_shown"),
        names,
        selection_mode="multi",
        key="machine_formats",
        default=usual,
        format_func=str.upper,
    )
    shown_formats = [name for name in names if name in picked] or names
    ridges = [
        words("machine.ridge", format=name.upper(), intensity=show_ratio(ridge))
        for name in shown_formats
        if (ridge := found.ridge(name)) is not None
    ]
    section(
        "roofline",
        words,
        title=words("machine.roofline_title"),
        takeaway=words("machine.roofline_takeaway", ridges=", ".join(ridges) or "–"),
        figure=roofline_figure(found, words, formats=shown_formats),
        table=tables.formats(profile, found, words),
    )


def _findings(profile: Profile, words: Words) -> None:
    sentences = machine_findings.findings(profile, words)
    items = "".join(f"<li>{escape(text)}</li>" for text in sentences)
    section(
        "flags",
        words,
        title=words("machine.findings_title"),
        takeaway=words("machine.findings_takeaway"),
        figure=None,
        table=tables.flags(profile, words),
        before=f'<ul class="fr-list">{items}</ul>' if items else "",
    )
    if profile.warnings:
        with st.expander(words("machine.remarks", count=len(profile.warnings))):
            notes = "".join(f"<li>{escape(text)}</li>" for text in profile.warnings)
            st.html(f'<ul class="fr-list">{notes}</ul>')


def _links(profile: Profile, words: Words) -> None:
    table = tables.links(profile, words)
    if table.rows:
        section(
            "links",
            words,
            title=words("machine.links_title"),
            takeaway=" ".join((words("machine.links_takeaway"), *tables.at_once(profile, words))),
            figure=None,
            table=table,
        )


def _quality(errors: Errors, words: Words) -> None:
    if not errors:
        return
    section(
        "quality",
        words,
        title=words("machine.quality_title"),
        takeaway=words("machine.quality_takeaway"),
        figure=None,
        table=tables.quality(errors, words),
    )


def compared(here: Known, there: Known, words: Words) -> None:
    """Two profiles: how much faster this one is, by kernel."""
    title = words("machine.compare_title")
    pairs = profile_compare.pairs_of(here.profile, there.profile)
    if not pairs:
        st.subheader(title, anchor="compare")
        st.html(f'<p class="fr-take">{escape(words("machine.nothing_common"))}</p>')
        return
    speed = profile_compare.middle([pair.speed for pair in pairs])
    takeaway = words(
        "machine.compare_takeaway",
        speed=show_ratio(speed),
        count=show_whole(len(pairs)),
        other=profile_choice.label(there, words),
    )
    groups = profile_compare.groups_of(pairs)
    section(
        "compare",
        words,
        title=title,
        takeaway=f"{takeaway} {_conditions(here, there, words)}".strip(),
        figure=ratio_figure(groups, words),
        table=tables.groups(groups, words),
        split=(1, 1),
    )
    section(
        "pairs",
        words,
        title=words("machine.pairs_title"),
        takeaway=words("machine.pairs_takeaway", count=min(MOST_PAIRS, len(pairs))),
        figure=None,
        table=tables.slowest(pairs, words, most=MOST_PAIRS),
    )
    every = tables.slowest(pairs, words, most=len(pairs))
    _download("machine_pairs", words("machine.pairs_csv"), to_csv(every), "compare.csv", "text/csv")


def _conditions(here: Known, there: Known, words: Words) -> str:
    """What else differs, so that nobody takes it for the device."""
    found = profile_compare.conditions(here.profile, there.profile)
    if not found:
        return ""
    parts = [
        f"{words(f'machine.condition_{name}')} {a or '–'} : {b or '–'}" for name, a, b in found
    ]
    return words("machine.conditions", conditions=", ".join(parts))


def _downloads(known: Known, words: Words) -> None:
    profile = known.profile
    text = json.dumps(dataclasses.asdict(profile), indent=1, allow_nan=False)
    with st.container(horizontal=True, gap="small"):
        _download("machine_json", words("machine.json"), text, "profile.json", "application/json")
        table = to_csv(tables.everything(profile))
        _download("machine_csv", words("machine.csv"), table, "profile.csv", "text/csv")


def _download(key: str, label: str, text: str, file: str, mime: str) -> None:
    st.download_button(
        label,
        text,
        file_name=f"forerun-{file}",
        mime=mime,
        key=key,
        icon=":material/download:",
        on_click="ignore",
    )
