"""Which of our presets torchtitan ships, by module, flavour and configuration function.

After `models/*/__init__.py` and `models/*/config_registry.py` of torchtitan 0.3.0 and, for the
flavours of the TOML, 0.2.2: both name these alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.trainers.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A model that torchtitan knows. `base` is its configuration function, None where none is."""

    module: str
    flavor: str
    base: str | None


_LLAMA, _QWEN, _DEEPSEEK, _GPT_OSS = "llama3", "qwen3", "deepseek_v3", "gpt_oss"
_ROWS = (
    ("llama-3-8b", _LLAMA, "8B", "llama3_8b"),
    ("llama-3.1-8b", _LLAMA, "8B", "llama3_8b"),
    ("llama-3-70b", _LLAMA, "70B", "llama3_70b"),
    ("llama-3.1-70b", _LLAMA, "70B", "llama3_70b"),
    ("llama-3.3-70b", _LLAMA, "70B", "llama3_70b"),
    ("llama-3.1-405b", _LLAMA, "405B", "llama3_405b"),
    ("qwen3-0.6b", _QWEN, "0.6B", "qwen3_0_6b"),
    ("qwen3-1.7b", _QWEN, "1.7B", "qwen3_1_7b"),
    ("qwen3-4b", _QWEN, "4B", None),
    ("qwen3-8b", _QWEN, "8B", None),
    ("qwen3-14b", _QWEN, "14B", "qwen3_14b"),
    ("qwen3-32b", _QWEN, "32B", "qwen3_32b"),
    ("qwen3-30b-a3b", _QWEN, "30B-A3B", "qwen3_30b_a3b"),
    ("qwen3-235b-a22b", _QWEN, "235B-A22B", None),
    ("deepseek-v2-lite", _DEEPSEEK, "16B", "deepseek_v3_16b"),
    ("deepseek-v2", _DEEPSEEK, "236B", None),
    ("deepseek-v3", _DEEPSEEK, "671B", "deepseek_v3_671b"),
    ("deepseek-r1", _DEEPSEEK, "671B", "deepseek_v3_671b"),
    ("gpt-oss-20b", _GPT_OSS, "20b", "gpt_oss_20b"),
    ("gpt-oss-120b", _GPT_OSS, "120b", "gpt_oss_120b"),
)
SHIPPED = {
    preset: Shipped(module=module, flavor=flavor, base=base)
    for preset, module, flavor, base in _ROWS
}


def shipped(job: Job) -> Shipped | None:
    """The model as torchtitan ships it, None where it does not or the run names no preset."""
    return SHIPPED.get(job.run.model or "")
