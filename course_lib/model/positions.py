"""Sinusoidal and learned positional encodings (section 3.5).

``embedding`` adds them to the token embeddings.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.model.config import Layout, require_choice
from course_lib.model.dropout import Dropout


def sinusoidal_positions(
    length: int,
    d_model: int,
    *,
    layout: Layout = "interleaved",
    base: float = 10_000.0,
) -> Float[Tensor, "length d_model"]:
    """Column pair i holds sin and cos of position / base^(2i / d_model).

    Args:
        length: number of positions, from 0 on.
        d_model: number of columns; even, for every frequency has one sine and one cosine.
        layout: "interleaved" sin, cos, sin, cos, … as in the paper; "concatenated" all sines, then
            all cosines. The same columns in another order.
        base: wavelengths run from 2π to base · 2π positions.

    Raises:
        ValueError: d_model is odd or not positive, or the layout is unknown.
    """
    require_choice("layout", layout, Layout)
    # float64 first: at position 5000 the angle has lost four digits in float32.
    angles = torch.arange(length, dtype=torch.float64)[:, None] * _frequencies(d_model, base)
    sine, cosine = angles.sin(), angles.cos()  # (length, d_model / 2) each
    if layout == "interleaved":
        table = torch.stack((sine, cosine), dim=-1).flatten(1)  # sin, cos, sin, …
    else:
        table = torch.cat((sine, cosine), dim=-1)
    return table.to(torch.get_default_dtype())


def _frequencies(d_model: int, base: float) -> Float[Tensor, " pairs"]:
    if d_model < 2 or d_model % 2:
        raise ValueError(
            f"sinusoidal positions need an even d_model, got {d_model}: "
            "each frequency fills one sine and one cosine column"
        )
    return base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def shift_matrix(
    d_model: int, offset: int, *, base: float = 10_000.0
) -> Float[Tensor, "d_model d_model"]:
    """The rotation M with ``M @ table[p] == table[p + offset]`` for every position p.

    A shift by k positions rotates each (sin, cos) pair by k times its frequency: the matrix depends
    on the offset alone. This is why each sine comes with a cosine. Layout: interleaved.
    """
    angles = offset * _frequencies(d_model, base)
    blocks = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]]) for a in angles]
    return torch.block_diag(*blocks).to(torch.get_default_dtype())


def token_positions(
    tokens: Int[Tensor, "batch length"], pad_id: int
) -> Int[Tensor, "batch length"]:
    """Each token's position among the real tokens of its row, from 0 on.

    Counting real tokens, not columns, gives a sentence the same positions whether it is padded on
    the left or on the right. Padding gets positions, too, but no query attends to it.
    """
    return ((tokens != pad_id).cumsum(dim=1) - 1).clamp(min=0)


def check_length(length: int, max_len: int) -> None:
    """Refuse more tokens than there are positions, with a ValueError."""
    if length > max_len:
        raise ValueError(
            f"a sequence may have at most max_len={max_len} tokens, got {length}: "
            "shorten it or build the model with a larger max_len"
        )


class PositionalEncoding(nn.Module):
    """Adds the positional encoding to each vector, then applies dropout (sections 3.5 and 5.4).

    Buffer ``table`` (max_len, d_model) for sinusoidal positions: it moves with ``.to()`` but is not
    saved, since the formula gives it back. With ``learned=True`` it is a parameter of that name.
    """

    table: Tensor

    def __init__(
        self,
        d_model: int,
        dropout: float = 0.1,
        max_len: int = 5000,
        *,
        layout: Layout = "interleaved",
        learned: bool = False,
    ) -> None:
        super().__init__()
        self.layout = layout
        if learned:
            self.table = nn.Parameter(nn.init.normal_(torch.empty(max_len, d_model)))
        else:
            table = sinusoidal_positions(max_len, d_model, layout=layout)
            self.register_buffer("table", table, persistent=False)
        self.dropout = Dropout(dropout)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """Move or convert all tensors; not even ``to_empty`` loses the table's values."""
        table = self.table
        super()._apply(fn, recurse)
        if not isinstance(table, nn.Parameter):
            if table.is_meta:
                table = sinusoidal_positions(*table.shape, layout=self.layout)
            self.table = table.to(self.table)  # copied only where device or type change
        return self

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        positions: Int[Tensor, "#batch length"] | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Add positions 0 … length - 1, or the given ones.

        Raises:
            ValueError: the sequence is longer than max_len, or x is not (batch, length, d_model).
        """
        if x.ndim != 3 or x.size(-1) != self.table.size(1):
            raise ValueError(
                f"x must have shape (batch, length, d_model={self.table.size(1)}), "
                f"got {tuple(x.shape)}"
            )
        check_length(x.size(1), self.table.size(0))
        if positions is None:
            return self.dropout(x + self.table[: x.size(1)])
        return self.dropout(x + self.table[positions])
