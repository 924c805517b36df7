"""Tokens and sources that cannot belong to a cache, and what is wrong with them.

Nothing is computed here: whoever reads how the cache works can skip this file.
"""

from torch import Tensor


def check_new_tokens(target: Tensor | None, tokens: Tensor) -> None:
    """Refuse tokens that cannot follow the cached ``target``, by ValueError."""
    if target is not None and len(tokens) != len(target):
        raise ValueError(
            f"new tokens must have the cache's {len(target)} rows, got {len(tokens)}: "
            "did you select rows of the batch but not of the cache, or reuse an old cache?"
        )


def check_source(held: Tensor | None, source: Tensor) -> None:
    """Refuse another source than the one whose memory is cached, by ValueError."""
    if held is not None and source is not held and not source.equal(held):
        raise ValueError(
            "source must be the one that the cache was filled with, got another: its "
            "memory would not be read; begin each batch with a new cache"
        )
