"""What a profile found, in the words of the page: formats against FP32, alignment, doubts."""

from __future__ import annotations

from planner.quantities import show_flops, show_percent
from profiles.findings import FASTER, SLOWER, Comparison, comparison, misalignment
from profiles.formats import FORMATS
from profiles.result import Profile
from ui.text import Words, show_ratio

DOUBTS = ("throttled", "device-shared", "wrong-result", "unreliable", "failed", "out-of-memory")


def findings(profile: Profile, words: Words) -> list[str]:
    """Sentences, one a format that says something, then alignment."""
    found = [_of_format(profile, name, words) for name in FORMATS if name != "fp32"]
    worst = misalignment(profile.results)
    if worst is not None:
        found.append(
            words(
                "machine.misaligned",
                format=worst.format.upper(),
                sizes=worst.sizes,
                side=worst.side,
                share=show_percent(worst.share),
            )
        )
    return [each for each in found if each]


def _of_format(profile: Profile, name: str, words: Words) -> str | None:
    found = comparison(profile.results, name)
    if found is not None:
        return _compared(found, words)
    tried = [each for each in profile.results if each.kernel == "gemm" and each.format == name]
    if not tried or any(each.measured for each in tried):
        return None
    why = words.name("machine_flag", tried[0].flags[0] if tried[0].flags else "failed")
    return words("machine.not_measured", format=name.upper(), why=why)


def _compared(found: Comparison, words: Words) -> str:
    if found.ratio < SLOWER:
        key, times = "machine.slower", 1 / found.ratio
    elif found.ratio > FASTER:
        key, times = "machine.faster", found.ratio
    else:
        key, times = "machine.as_fast", 1.0
    said = words(
        key,
        format=found.format.upper(),
        side=found.side,
        rate=show_flops(found.rate, per_second=True),
        times=show_ratio(times),
    )
    more = [
        words("machine.by_emulation") if found.emulated and found.ratio < SLOWER else "",
        words("machine.larger_skipped") if found.skipped else "",
        words("machine.vary") if found.doubtful else "",
    ]
    return " ".join(part for part in (said, *more) if part)


def doubts(profile: Profile, words: Words) -> list[str]:
    """What makes times of this profile doubtful: a sentence a flag that kernels carry."""
    total = sum(each.measured for each in profile.results)
    counts = {flag: sum(flag in each.flags for each in profile.results) for flag in DOUBTS}
    return [
        words(
            "machine.doubt",
            count=count,
            total=total,
            flag=words.name("machine_flag", flag),
            meaning=words.name("machine_meaning", flag),
        )
        for flag, count in counts.items()
        if count
    ]
