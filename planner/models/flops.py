"""Model FLOPs: what a training step needs by definition, whatever the hardware does."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine.model import Block, Matrix, Model
from planner.errors import PlannerError

_BACKWARD_AND_FORWARD = 3  # the backward pass computes two products for each of the forward's


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFlops:
    """Training FLOPs for one token, forward and backward."""

    matmul: float  # FLOP in weight matrices: 6 x the weights that a token uses
    attention: float  # FLOP in scores and weighted values

    @property
    def total(self) -> float:
        return self.matmul + self.attention


def flops_per_token(
    model: Model, seq_len: int, *, causal: bool = False, encoder_seq_len: int = 0
) -> float:
    """Model FLOPs that training spends on one token, recomputation not counted.

    6 x the weights that multiply a token (active experts only; the output layer counts whether
    tied or not, the input embedding is a look-up and does not; biases and norms do not) plus the
    attention: 12·heads·head_dim·context for each layer. `context` is `seq_len`, the standard
    convention that published MFU figures mostly use, or with `causal=True` the half of it
    that a causal mask leaves; a sliding window limits it in both. For an encoder-decoder the
    token is one of the decoder's, and carries its share of the encoder's work. For a ViT
    it is one of the image's tokens.

    Source: Chowdhery et al. 2022 (arXiv 2204.02311), appendix B. Raises PlannerError when
    `seq_len` is not positive.

    >>> from planner.models import load_model
    >>> model = load_model("llama-2-7b")
    >>> round(flops_per_token(model, 4096) / 1e9, 2), round(6 * model.params_total / 1e9, 2)
    (46.08, 40.43)
    """
    parts = flops_parts(model, seq_len, causal=causal, encoder_seq_len=encoder_seq_len)
    return parts.total


def flops_parts(
    model: Model, seq_len: int, *, causal: bool = False, encoder_seq_len: int = 0
) -> TokenFlops:
    """`flops_per_token` as its two named parts."""
    if isinstance(seq_len, bool) or not isinstance(seq_len, int) or seq_len < 1:
        raise PlannerError("data.seq_len", seq_len, "must be a whole number from 1 on")
    source = encoder_seq_len or seq_len
    lengths = _Lengths(tokens=seq_len, source=source, paired=model.kind == "encoder-decoder")
    weights = matmul_weights_per_token(model, seq_len, encoder_seq_len=encoder_seq_len)
    attention = sum(block.count * _attention(block, lengths, causal) for block in model.blocks)
    return TokenFlops(
        matmul=2 * _BACKWARD_AND_FORWARD * weights,
        attention=_BACKWARD_AND_FORWARD * attention,
    )


def matmul_weights_per_token(model: Model, seq_len: int, *, encoder_seq_len: int = 0) -> float:
    """Weights that multiply one token: its forward multiply-accumulates outside attention."""
    source = encoder_seq_len or seq_len
    lengths = _Lengths(tokens=seq_len, source=source, paired=model.kind == "encoder-decoder")
    inside = sum(
        block.count * matrix.weights * _uses(block, matrix, lengths)
        for block in model.blocks
        for matrix in block.matrices
    )
    outside = sum(
        matrix.weights / (seq_len if matrix.per_sequence else 1) for matrix in model.matrices
    )
    return inside + outside


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lengths:
    tokens: int  # of a sequence whose tokens we count by
    source: int  # tokens that an encoder reads for that sequence
    paired: bool  # the model has an encoder beside its decoder

    @property
    def encoder_share(self) -> float:
        """Encoder tokens for each counted token."""
        return self.source / self.tokens if self.paired else 1.0


def _uses(block: Block, matrix: Matrix, lengths: _Lengths) -> float:
    """How often one counted token passes through a weight of this matrix, on average."""
    if matrix.role == "expert":
        return block.top_k / block.num_experts
    if matrix.encoder_tokens or block.side == "encoder":
        return lengths.encoder_share
    return 1.0


def _attention(block: Block, lengths: _Lengths, causal: bool) -> float:
    """Forward FLOPs of scores and weighted values for one counted token in one layer."""
    per_context = 2 * block.heads * (block.head_dim + block.v_head_dim)
    if lengths.paired and block.side == "encoder":
        context = lengths.source * lengths.encoder_share
    else:
        context = _context(lengths.tokens, block.window, causal and block.causal)
    if block.cross_attention:
        context += lengths.source
    return per_context * context


def _context(seq_len: int, window: int | None, causal: bool) -> float:
    """Mean number of tokens attended to; a causal mask keeps half of the square.

    >>> _context(8, None, True), _context(8, None, False), _context(8, 4, True)
    (4.0, 8, 3.0)
    """
    reach = min(window or seq_len, seq_len)
    return reach * (1 - reach / (2 * seq_len)) if causal else reach
