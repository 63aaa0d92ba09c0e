"""How much of what a run trains on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planner.errors import PlannerError
from planner.quantities import RATE, SEQUENCE, TOKENS, Kind
from planner.run.keys import key, read_fields
from planner.run.values import amount, one_of, shape, whole, word

PACKINGS = ("packed", "padded", "bucketed")

_EPOCHS = Kind(name="a number of epochs", unit="", units={"": 1.0}, high=1e6, example="3 or 0.5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """How much of what is trained on; one of tokens, samples and epochs says how much."""

    PATH: ClassVar[str] = "data"

    tokens: int | None = key(whole(TOKENS), "training tokens, such as 1T")
    samples: int | None = key(whole(TOKENS), "training sequences or images, instead of tokens")
    epochs: float | None = key(amount(_EPOCHS), "passes over the dataset, instead of tokens")
    dataset_tokens: int | None = key(whole(TOKENS), "tokens in the dataset, with epochs")
    dataset_samples: int | None = key(whole(TOKENS), "samples in the dataset, with epochs")
    seq_len: int | None = key(whole(SEQUENCE), "tokens per sequence, such as 8192")
    lengths: str | None = key(
        word, "real lengths: a CSV with length,count or a JSONL text", metavar="FILE"
    )
    tokenizer: str | None = key(word, "tokenizer of a JSONL text of lengths", metavar="NAME")
    packing: str | None = key(
        one_of(PACKINGS), "of real lengths in a batch: " + " | ".join(PACKINGS), metavar="WORD"
    )
    input_shape: tuple[int, ...] | None = key(
        shape, "dimensions of one sample of a traced module, such as 3,224,224", metavar="D,D,.."
    )
    unique_tokens: int | None = key(whole(TOKENS), "distinct tokens, when data repeats")
    loader_rate: float | None = key(
        amount(RATE), "samples a second that the loader of one host can feed"
    )  # samples/s per host

    def __post_init__(self) -> None:
        read_fields(self)
        self._check_amount()
        self._check_lengths()

    @property
    def has_amount(self) -> bool:
        """Whether the file says how long to train."""
        return not self.tokens is self.samples is self.epochs is None

    def _check_amount(self) -> None:
        _at_most_one(self, ("tokens", "samples", "epochs"))
        _at_most_one(self, ("dataset_tokens", "dataset_samples"))
        dataset = self.dataset_tokens or self.dataset_samples
        if self.epochs is not None and dataset is None:
            raise PlannerError(
                "data.epochs",
                self.epochs,
                "say the dataset's size: dataset_tokens or dataset_samples",
            )
        if self.epochs is None and dataset is not None:
            name = "dataset_tokens" if self.dataset_tokens else "dataset_samples"
            raise PlannerError(
                f"data.{name}", dataset, "add epochs, or say unique_tokens when data repeats"
            )

    def _check_lengths(self) -> None:
        for name in ("packing", "tokenizer"):
            value = getattr(self, name)
            if value is not None and self.lengths is None:
                raise PlannerError(f"data.{name}", value, "add lengths, the file it applies to")
        if self.lengths and self.lengths.endswith(".jsonl") and self.tokenizer is None:
            raise PlannerError("data.lengths", self.lengths, "a JSONL text needs data.tokenizer")


def _at_most_one(data: Data, names: tuple[str, ...]) -> None:
    given = [name for name in names if getattr(data, name) is not None]
    if len(given) > 1:
        value = ", ".join(f"{name}={getattr(data, name):g}" for name in given)
        raise PlannerError(
            f"data.{given[1]}", value, f"these conflict: keep one of {', '.join(given)}"
        )
