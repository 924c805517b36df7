"""Translation as the continuation of a text: source and target in one sequence.

    tokens         guten  tag    BOS    good   day    EOS
    labels         -      -      good   day    EOS    -
    prefix             2, the source

The labels are the tokens, one place earlier, where the target is predicted; elsewhere they are
``IGNORED``.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

IGNORED = -100  # the label that PyTorch's cross-entropy leaves out


class PrefixBatch(NamedTuple):
    """Pairs of a source and a target, each joined to one row."""

    tokens: Int[Tensor, "batch length"]  # source, BOS, target, EOS, padding
    prefix: Int[Tensor, " batch"]  # the length of each source
    labels: Int[Tensor, "batch length"]  # the token that follows, or IGNORED


def join_pairs(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]], *, pad_id: int, bos_id: int, eos_id: int
) -> PrefixBatch:
    """Join each pair to ``source + [BOS] + target + [EOS]``, padded on the right.

    Args:
        pairs: ids of a source and of its target, neither with BOS or EOS.

    Raises:
        ValueError: there is no pair, or a source has no token.
    """
    pairs = [(list(source), list(target)) for source, target in pairs]
    if not pairs or not all(source for source, _ in pairs):
        raise ValueError(
            "pairs must hold at least one pair, and each source at least one token, got "
            f"{len(pairs)} pairs: an empty source leaves nothing to translate"
        )
    rows = [[*source, bos_id, *target, eos_id] for source, target in pairs]
    length = max(map(len, rows))
    tokens = torch.tensor([row + [pad_id] * (length - len(row)) for row in rows])
    prefix = torch.tensor([len(source) for source, _ in pairs])
    labels = torch.full_like(tokens, IGNORED)
    for i, row in enumerate(rows):
        start = int(prefix[i])
        labels[i, start : len(row) - 1] = tokens[i, start + 1 : len(row)]
    return PrefixBatch(tokens, prefix, labels)


def next_token_loss(
    logits: Float[Tensor, "batch length vocab"], labels: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    """The mean cross-entropy, in nats, of the labels that are not ``IGNORED``.

    The labels are shifted already: ``labels[:, i]`` is the token after ``tokens[:, i]``.

    Raises:
        ValueError: logits and labels do not fit, or no label counts.
    """
    if logits.shape[:-1] != labels.shape:
        raise ValueError(
            f"labels must have shape {tuple(logits.shape[:-1])}, as the logits without their last "
            f"axis, got {tuple(labels.shape)}: are they of another batch?"
        )
    if not (labels != IGNORED).any():
        raise ValueError(
            f"no label counts: all {labels.numel()} are IGNORED ({IGNORED}), and the mean of "
            "nothing is not a number; is the whole row a prefix?"
        )
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
