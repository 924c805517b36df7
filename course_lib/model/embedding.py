"""From token ids to vectors: token embedding plus position (sections 3.4 and 3.5).

The positional encodings themselves are in ``positions``, tokenizers in ``course_lib.data``.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.model.positions import PositionalEncoding, token_positions


def embedding_std(d_model: int) -> float:
    """Standard deviation of the initial embeddings if they are also the output layer's weights
    (weight tying): the loss at initialisation is then close to ln(vocab).

    The last LayerNorm gives vectors of norm √d_model, so logits have standard deviation
    std · √d_model, and the loss starts about half their variance above ln(vocab). With
    std = 0.2 / √d_model that is 0.02.
    """
    return 0.2 / math.sqrt(d_model)


class TransformerEmbedding(nn.Module):
    """Token embedding × √d_model, plus position, then dropout.

    Parameters: ``tokens.weight`` (vocab, d_model); ``positions.table`` (max_len, d_model) if
    positions are learned.

    Args:
        pad_id: padding is not counted as a position.
        dropout: of the sum.
        scale: multiply by √d_model, so that the positions do not dominate the tokens.
        std: standard deviation of the initial embeddings; by default 1 after scaling.
        positions: module that adds positions; by default sinusoidal.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        pad_id: int = 0,
        dropout: float = 0.1,
        *,
        scale: bool = True,
        std: float | None = None,
        positions: PositionalEncoding | None = None,
    ) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.scale = math.sqrt(d_model) if scale else 1.0
        self.tokens = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.tokens.weight, std=1 / self.scale if std is None else std)
        self.positions = positions or PositionalEncoding(d_model, dropout)

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        prefix: Int[Tensor, "batch prefix"] | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Embed token ids.

        Args:
            tokens: ids below vocab_size.
            prefix: when decoding with a cache, all tokens so far, of which ``tokens`` are the last.

        Raises:
            TypeError: tokens are not whole numbers.
            ValueError: the shape is not (batch, length), or an id is out of range.
        """
        check_tokens(tokens)
        embedded = look_up(self.tokens, tokens)  # (batch, length, d_model)
        whole = tokens if prefix is None else prefix
        positions = token_positions(whole, self.pad_id)[:, -tokens.size(1) :]
        return self.positions(embedded * self.scale, positions)


def look_up(table: nn.Embedding, tokens: Tensor) -> Tensor:
    """The rows of the table for these ids; a ValueError for an id that has none."""
    try:
        return table(tokens)
    except IndexError as error:  # on a CPU; a GPU stops at its next synchronisation
        raise ValueError(
            f"token ids must lie in 0 … {table.num_embeddings - 1} "
            f"(vocab_size={table.num_embeddings}), got {int(tokens.min())} … "
            f"{int(tokens.max())}: do tokenizer and model belong together?"
        ) from error


def check_tokens(tokens: Tensor) -> None:
    """Refuse what is not a batch of token ids; see ``TransformerEmbedding.forward``."""
    if tokens.dtype not in (torch.int64, torch.int32):
        raise TypeError(
            f"tokens must be whole numbers (torch.int64), got {tokens.dtype}: "
            "token ids are looked up in a table, build them with torch.tensor([[1, 2, 3]])"
        )
    if tokens.ndim != 2:
        raise ValueError(
            f"tokens must have shape (batch, length), got {tuple(tokens.shape)}: "
            "is a batch dimension missing? use tokens[None]"
        )
    if tokens.numel() == 0:
        raise ValueError(
            "tokens must hold at least one sentence of at least one token, got shape "
            f"{tuple(tokens.shape)}: give an empty sentence an end-of-sentence token"
        )
