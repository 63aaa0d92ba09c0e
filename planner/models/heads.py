"""What sits on top of the layers: the class named under `architectures` decides.

The same config counts differently with a language-model head, a classifier or no head at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine.model import Matrix
from planner.models.fields import Fields

_SUFFIXES = {
    "LMHeadModel": "lm",
    "ForCausalLM": "lm",
    "ForConditionalGeneration": "lm",
    "ForMaskedLM": "mlm",
    "ForPreTraining": "pretraining",
    "ForSequenceClassification": "sequence",
    "ForTokenClassification": "token",
    "ForQuestionAnswering": "qa",
    "ForImageClassification": "image",
    "EncoderModel": "encoder",
    "Model": "none",
}
_NOT_PLAIN = ("HeadsModel", "RewardModel", "VisionModel")
_DEFAULT_LABELS = 2  # the format leaves id2label out when there are two


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The output part of a model. `params` excludes a matrix shared with the input embedding."""

    matrices: tuple[Matrix, ...] = ()
    params: int = 0  # of the output layer
    final_params: int = 0  # poolers and their like
    vocab: int = 0  # rows over a vocabulary, 0 = none
    tied: bool = False


def head_kind(fields: Fields, *, usual: str, allowed: tuple[str, ...]) -> str:
    """Kind of head by the first class under `architectures`, `usual` (with a warning) if absent."""
    named = fields.items("architectures")
    if not named:
        fields.warn(f"the config names no architectures class: counted with the {usual} head")
        return usual
    name = named[0]
    kind = _kind_of(name) if isinstance(name, str) else None
    if kind not in allowed:
        endings = ", ".join(end for end, word in _SUFFIXES.items() if word in allowed)
        raise fields.error("architectures", name, f"its head is not known; known: ...{endings}")
    return kind


def num_labels(fields: Fields) -> int:
    """Classes of a classifier: `id2label` entries, or `num_labels`, or the format's usual two."""
    table = fields.table("id2label")
    if table is not None:
        if not table:
            raise fields.error("id2label", dict(table), "must name at least one class")
        return len(table)
    stated = fields.optional("num_labels")
    if stated is None:
        fields.warn(f"the config names no classes: counted with {_DEFAULT_LABELS}")
    return stated or _DEFAULT_LABELS


def decoder_head(fields: Fields, *, width: int, vocab: int, tied: bool, bias: bool = False) -> Head:
    """Output layer of a decoder: over the vocabulary, over classes, or none."""
    kind = head_kind(fields, usual="lm", allowed=("lm", "none", "sequence"))
    if kind == "none":
        return Head()
    if kind == "sequence":
        score = classifier("score", width, num_labels(fields), bias=False, per_sequence=True)
        return Head(matrices=(score,), params=score.params)
    return vocabulary_head("lm_head", width=width, vocab=vocab, tied=tied, bias=bias)


def vocabulary_head(name: str, *, width: int, vocab: int, tied: bool, bias: bool = False) -> Head:
    """Logits over `vocab`; a tied matrix is counted with the input embedding."""
    matrix = Matrix(name=name, role="head", inputs=width, outputs=vocab, bias=bias)
    params = matrix.params - (matrix.weights if tied else 0)
    return Head(matrices=(matrix,), params=params, vocab=vocab, tied=tied)


def classifier(
    name: str, width: int, labels: int, *, bias: bool = True, per_sequence: bool
) -> Matrix:
    return Matrix(
        name=name,
        role="head",
        inputs=width,
        outputs=labels,
        bias=bias,
        per_sequence=per_sequence,
    )


def _kind_of(name: str) -> str | None:
    if name.endswith(_NOT_PLAIN):
        return None
    return next((kind for end, kind in _SUFFIXES.items() if name.endswith(end)), None)
