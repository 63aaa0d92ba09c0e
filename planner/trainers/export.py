"""What an export gives: files, and what they leave to the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file of a trainer's own format."""

    name: str  # as it is usually called
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What the files do not say: the run does not know it, or the format cannot hold it."""

    what: str
    says: str  # what to do about it, or what the trainer does without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A plan as a trainer's config. The first file is for the release that `software` names."""

    target: str
    software: str  # and the version whose keys the file uses
    files: tuple[File, ...]
    left: tuple[Left, ...]

    def __post_init__(self) -> None:
        assert self.files, "an export has a file"

    def file(self, suffix: str) -> File:
        """The file with this ending, such as `.toml`; the first where none has it."""
        for each in self.files:
            if suffix and each.name.endswith(suffix):
                return each
        return self.files[0]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and words."""
        return asdict(self)


def commented(lines: Sequence[str], mark: str = "#") -> str:
    """Lines as comments.

    >>> print(commented(["one", "", "two"]), end="")
    # one
    #
    # two
    """
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


def remarked(heading: Sequence[str], remarks: Sequence[Left], mark: str = "#") -> str:
    """The head of a file: where it comes from, and what it leaves to the user, as comments."""
    return commented([*heading, "", *(f"{each.what}: {each.says}" for each in remarks)], mark)


def yaml_text(values: Mapping[str, Any]) -> str:
    """Plain values as YAML in the given order, text of several lines as a block."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar(
            "tag:yaml.org,2002:str", value, style="|" if "\n" in value else None
        )

    Dumper.add_representer(str, text)
    return str(yaml.dump(dict(values), Dumper=Dumper, sort_keys=False))
