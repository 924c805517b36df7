"""Rotary positions: queries and keys are turned instead of shifted (Su et al. 2021, section 3.2).

Lesson 01's ``shift_matrix`` turns pairs of a sinusoidal encoding by an angle that depends on the
offset alone. Here the same rotation is applied to the features of a query and of a key, so their
product depends on the distance between the two positions and on nothing else.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

Heads = Float[Tensor, "batch heads length d_head"]
TokenPositions = Int[Tensor, " length"]


def rotate(x: Heads, positions: TokenPositions, *, base: float = 10_000.0) -> Heads:
    """Turn feature pair (i, i + d_head / 2) at position p by the angle p / base^(2i / d_head).

    This layout of pairs, in halves, is that of Hugging Face's models.

    Args:
        x: queries or keys, split into heads.
        positions: of the tokens of ``x``, from 0 on; with a cache, those of the new tokens.
        base: the slowest pair turns once in almost base · 2π positions.

    Raises:
        ValueError: d_head is odd, or there is not one position for each token.
    """
    cos, sin = _turns(x, positions, base)
    first, second = x.chunk(2, dim=-1)  # (batch, heads, length, d_head / 2) each
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


def rotate_interleaved(x: Heads, positions: TokenPositions, *, base: float = 10_000.0) -> Heads:
    """``rotate`` with the pairs (2i, 2i + 1), as in the paper and in Meta's files of Llama.

    GGUF files have them for some architectures, among them Llama's, and halves for others, such as
    Qwen's and Gemma's. Scores are the same as with ``rotate`` if the features of queries *and* keys
    are reordered alike. Weights that were trained with one layout do not work with the other.
    """
    cos, sin = _turns(x, positions, base)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = (first * cos - second * sin, first * sin + second * cos)
    return torch.stack(turned, dim=-1).flatten(-2)


def _turns(x: Tensor, positions: Tensor, base: float) -> tuple[Tensor, Tensor]:
    """Cosine and sine of each position's angles, (length, d_head / 2) each."""
    d_head = x.size(-1)
    if x.ndim < 2 or d_head % 2:
        raise ValueError(
            f"x must have shape (batch, heads, length, d_head) with an even d_head, got "
            f"{tuple(x.shape)}: each frequency turns a pair of features"
        )
    if positions.shape != x.shape[-2:-1]:
        raise ValueError(
            f"positions must have shape (length={x.size(-2)},), one for each token, got "
            f"{tuple(positions.shape)}: with a cache, give those of the new tokens alone"
        )
    # float64 first: at position 5000 the angle has lost four digits in float32. Apple's GPUs have
    # no float64.
    wide = torch.float32 if x.device.type == "mps" else torch.float64
    pairs = torch.arange(0, d_head, 2, dtype=wide, device=x.device)
    angles = positions.to(x.device, wide)[:, None] * base ** -(pairs / d_head)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)
