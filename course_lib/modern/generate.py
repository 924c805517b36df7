"""Continue a text token by token, with the cache."""

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.modern.cache import DecoderCache
from course_lib.modern.decoder_only import DecoderOnly


@torch.inference_mode()
def continue_greedily(
    model: DecoderOnly,
    tokens: Int[Tensor, "batch length"],
    *,
    max_new: int,
    eos_id: int | None = None,
    prefix_length: int = 0,
) -> Int[Tensor, "batch new"]:
    """Append the most probable token until each row has ended, at most ``max_new`` times.

    All rows have one length: padding would stand between the text and what follows. After its EOS
    a row holds EOS only.

    Args:
        tokens: what to continue; for a translation, the source and BOS.
        eos_id: where a row ends; None: nowhere.
        prefix_length: how many tokens at the start see one another, the same in each row.

    Returns:
        The new tokens alone, EOS included.

    Raises:
        ValueError: max_new is not positive, the prefix is longer than the tokens, or text and new
            tokens together exceed max_len.
    """
    if max_new < 1:
        raise ValueError(f"max_new must be at least 1, got {max_new}")
    if not 0 <= prefix_length <= tokens.size(-1):
        raise ValueError(
            f"prefix_length must lie in 0 … {tokens.size(-1)}, the number of tokens, got "
            f"{prefix_length}"
        )
    cache = DecoderCache(model.config)
    prefix = torch.full((tokens.size(0),), prefix_length, device=tokens.device)
    logits = model(tokens, prefix=prefix, cache=cache)
    ended = torch.zeros(tokens.size(0), dtype=torch.bool, device=tokens.device)
    new: list[Tensor] = []
    while True:
        token = logits[:, -1].argmax(dim=-1)  # (batch,)
        if eos_id is not None:
            token = token.masked_fill(ended, eos_id)
            ended |= token == eos_id
        new.append(token)
        if len(new) == max_new or bool(ended.all()):
            return torch.stack(new, dim=1)
        logits = model(token[:, None], prefix=prefix, cache=cache)
