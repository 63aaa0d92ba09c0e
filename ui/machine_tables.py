"""The tables of the page This machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.quantities import show_bytes, show_duration, show_flops, show_percent, show_rate
from profiles.at_once import COPY, PRODUCT, slowdowns_between
from profiles.formats import FORMATS
from profiles.links import Group as Ranks
from profiles.links import links_between
from profiles.result import Profile, Result
from ui.profile_compare import Group, Pair
from ui.roofline import Roofline, family, shape_text
from ui.table import Row, Table
from ui.text import Words, show_ratio

_COLUMNS = (  # of the download
    "kernel family format mode shape median_s iqr_s n flops bytes flop_per_second "
    "bytes_per_second energy_j flags reason"
)
_MOVING = ("copy", "h2d", "d2h")


def formats(profile: Profile, found: Roofline, words: Words) -> Table:
    """The best product of each format, against FP32, or why there is none."""
    base = found.roofs.get("fp32")
    rows = []
    for name in FORMATS:
        roof, tried = found.roofs.get(name), [r for r in profile.results if r.format == name]
        if roof is None:
            if tried:
                why = words.name("machine_flag", _flag(tried))
                cells = (name.upper(), "–", "–", why)
                rows.append(Row(cells=cells, values=(name, None, None, None), swatch=name))
            continue
        ratio = roof.rate / base.rate if base else None
        shown = "–" if ratio is None else f"{show_ratio(ratio)}×"
        cells = (name.upper(), show_flops(roof.rate, per_second=True), shown, shape_text(roof.best))
        values = (name, roof.rate, ratio, shape_text(roof.best))
        rows.append(Row(cells=cells, values=values, swatch=name))
    columns = ("format", "best_rate", "of_fp32", "at_shape")
    return Table(
        columns=tuple(words(f"machine.{key}") for key in columns),
        names=("format", "flop_per_second", "of_fp32", "shape"),
        rows=tuple(rows),
        numeric=(1, 2),
    )


def _flag(results: Sequence[Result]) -> str:
    flags = [flag for each in results for flag in each.flags]
    return flags[0] if flags else "failed"


def traffic(profile: Profile, words: Words) -> Table:
    """Copies inside the device and to the host, by size."""
    rows = []
    for each in profile.results:
        if each.kernel not in _MOVING or not each.median_s:
            continue
        rate, size = each.bytes_per_second, each.shape.get("bytes")
        how = str(each.shape.get("memory", words(f"machine.mode_{each.mode}")))
        spread = (each.iqr_s or 0.0) / each.median_s
        name = words.name("machine_kernel", each.kernel)
        shown = show_bytes(float(size)) if isinstance(size, int) else "–"
        cells = (f"{name}, {how}", shown, show_rate(rate, "B"), show_percent(spread))
        values = (f"{each.kernel} {how}", size, rate, spread)
        rows.append(Row(cells=cells, values=values))
    columns = ("moving", "size", "rate", "spread")
    return Table(
        columns=tuple(words(f"machine.{key}") for key in columns),
        names=("copy", "bytes", "bytes_per_second", "iqr_of_median"),
        rows=tuple(rows),
        numeric=(1, 2, 3),
    )


def links(profile: Profile, words: Words) -> Table:
    """What collectives between several devices showed of the link, by group and operation."""
    rows = []
    for group, fits in links_between(profile.results).items():
        ranks = _ranks(group, words)
        for name, link in fits.items():
            start = None if link is None else link.latency_s
            rate = None if link is None else link.bytes_per_second
            shown = (words.name("machine_kernel", name), ranks)
            cells = (*shown, show_duration(start), show_rate(rate, "B"))
            rows.append(Row(cells=cells, values=(name, ranks, start, rate)))
    columns = ("collective", "among", "latency", "bus_bandwidth")
    return Table(
        columns=tuple(words(f"machine.{key}") for key in columns),
        names=("collective", "ranks", "latency_s", "bytes_per_second"),
        rows=tuple(rows),
        numeric=(2, 3),
    )


def _ranks(group: Ranks, words: Words) -> str:
    key = "machine.ranks_on_nodes" if group.nodes > 1 else "machine.ranks"
    return words(key, ranks=group.ranks, nodes=group.nodes, backend=group.backend)


def at_once(profile: Profile, words: Words) -> list[str]:
    """A sentence for each group: what its ranks slow each other down by."""
    return [
        words(
            "machine.at_once",
            ranks=_ranks(group, words),
            product=show_ratio(ratios[PRODUCT]),
            copy=show_ratio(ratios[COPY]),
        )
        for group, ratios in slowdowns_between(profile.results).items()
        if {PRODUCT, COPY} <= set(ratios)
    ]


def flags(profile: Profile, words: Words) -> Table:
    """Every flag with the number of kernels that carry it and what it means, the most first."""
    counts = Counter(flag for each in profile.results for flag in each.flags)
    rows = [
        Row(
            cells=(
                words.name("machine_flag", flag),
                f"{count} / {len(profile.results)}",
                words.name("machine_meaning", flag),
            ),
            values=(flag, count, len(profile.results)),
        )
        for flag, count in counts.most_common()
    ]
    return Table(
        columns=tuple(words(f"machine.{key}") for key in ("flag", "kernels", "meaning")),
        names=("flag", "kernels", "of"),
        rows=tuple(rows),
        numeric=(1,),
    )


def quality(errors: dict[str, dict[str, float]], words: Words) -> Table:
    """By format: what the curve errs by on shapes that it was not shown."""
    rows = [
        Row(
            cells=(
                name.upper(),
                show_percent(row["median"]),
                show_percent(row["p90"]),
                f"{row['n']:.0f}",
            ),
            values=(name, row["median"], row["p90"], row["n"]),
            swatch=name,
        )
        for name, row in errors.items()
    ]
    return Table(
        columns=(
            words("machine.format"),
            words("accuracy.median_short"),
            words("accuracy.p90_short"),
            words("machine.shapes"),
        ),
        names=("format", "median_error", "p90_error", "shapes"),
        rows=tuple(rows),
        numeric=(1, 2, 3),
    )


def everything(profile: Profile) -> Table:
    """Every kernel, for a download."""
    names = tuple(_COLUMNS.split())
    rows = []
    for each in profile.results:
        values = (
            each.kernel,
            family(each.kernel),
            each.format,
            each.mode,
            shape_text(each),
            each.median_s,
            each.iqr_s,
            each.n,
            each.flops,
            each.bytes,
            each.flops_per_second,
            each.bytes_per_second,
            each.energy_j,
            " ".join(each.flags),
            each.reason,
        )
        rows.append(Row(cells=tuple(map(str, values)), values=values))
    return Table(columns=names, names=names, rows=tuple(rows))


def slowest(pairs: Sequence[Pair], words: Words, *, most: int) -> Table:
    """The kernels whose speed differs most, either way."""
    ordered = sorted(pairs, key=lambda pair: -max(pair.speed, 1 / pair.speed))[:most]
    return Table(
        columns=tuple(words(f"machine.{key}") for key in ("kernel", "here", "there", "speed")),
        names=("kernel", "here_s", "there_s", "speed"),
        rows=tuple(_pair(pair, words) for pair in ordered),
        numeric=(1, 2, 3),
    )


def _pair(pair: Pair, words: Words) -> Row:
    here, there = pair.here, pair.there
    name = f"{here.kernel} {here.format.upper()} {shape_text(here)}"
    times = (words.number(show_duration(each.median_s)) for each in (here, there))
    return Row(
        cells=(name, *times, f"{show_ratio(pair.speed)}×"),
        values=(here.key, here.median_s, there.median_s, pair.speed),
    )


def groups(found: Sequence[Group], words: Words) -> Table:
    """The ratio by family and format: median and ends."""
    rows = []
    for group in found:
        speeds = [pair.speed for pair in group.pairs]
        low, high = min(speeds), max(speeds)
        name = f"{words.name('machine_family', group.family)} {group.format.upper()}"
        shown = f"{show_ratio(low)}–{show_ratio(high)}×" if len(speeds) > 1 else "–"
        rows.append(
            Row(
                cells=(name, str(len(speeds)), f"{show_ratio(group.median)}×", shown),
                values=(f"{group.family} {group.format}", len(speeds), group.median, low, high),
            )
        )
    return Table(
        columns=(
            words("machine.kernels_of"),
            words("machine.shapes"),
            words("accuracy.median_short"),
            words("machine.range"),
        ),
        names=("kernels", "shapes", "median_speed", "low", "high"),
        rows=tuple(rows),
        numeric=(1, 2, 3),
    )
