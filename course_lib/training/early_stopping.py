"""When more training no longer pays."""

from __future__ import annotations

from collections.abc import Sequence


def out_of_patience(valid_losses: Sequence[float], patience: int | None) -> bool:
    """Whether the last ``patience`` validations brought no loss below the best one before them.

    Args:
        valid_losses: of all validations so far, in order.
        patience: validations to wait; None waits for ever.
    """
    if patience is None or len(valid_losses) <= patience:
        return False
    return min(valid_losses[-patience:]) >= min(valid_losses[:-patience])
