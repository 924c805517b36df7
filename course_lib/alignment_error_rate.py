"""Alignment error rate: how far a word alignment is from the gold alignment."""

from __future__ import annotations

from collections.abc import Collection


def alignment_error_rate(
    links: Collection[tuple[int, ...]], gold: Collection[tuple[int, ...]]
) -> float:
    """``1 - 2 · |links ∩ gold| / (|links| + |gold|)``: 0 if the two sets are equal, 1 if disjoint.

    That is the rate of Och and Ney (2003, https://aclanthology.org/J03-1002) with all gold links
    sure, and one minus the F1 score of the links.

    Args:
        links: predicted (source index, target index). To score several sentences at once, put the
            sentence's number in front.
        gold: the gold alignment in the same form.

    Raises:
        ValueError: both are empty, which leaves the rate undefined.
    """
    predicted, sure = set(links), set(gold)
    if not predicted and not sure:
        raise ValueError(
            "expected at least one link for an alignment error rate, got none, neither predicted "
            "nor gold: does this corpus have gold alignments?"
        )
    return 1 - 2 * len(predicted & sure) / (len(predicted) + len(sure))
