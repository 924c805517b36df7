"""Teacher forcing, token by token: what the decoder reads, and what it shall say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course_lib.viz.style import LINES, MASKED, MASKED_HATCH, REFERENCE, new_axes, styled
from course_lib.viz.alt_text import tell

READS, SAYS = 1.0, 0.0  # heights of the two rows
TOKEN: dict[str, Any] = {"facecolor": "#dbe9f6", "edgecolor": LINES[0], "linewidth": 1.2}
LABEL: dict[str, Any] = {"facecolor": "#fde5cf", "edgecolor": LINES[1], "linewidth": 1.2}
PAD: dict[str, Any] = {
    "facecolor": MASKED,
    "edgecolor": MASKED_HATCH,
    "linewidth": 1.2,
    "hatch": "////",
}


@styled
def plot_teacher_forcing(
    reads: Sequence[str],
    says: Sequence[str],
    *,
    pad: str = "<pad>",
    title: str = "The same sentence twice, moved by one",
    ax: Axes | None = None,
) -> Axes:
    """Two rows of tokens: each step down is a prediction, each dashed step up shows that the right
    word is read next, whatever was predicted.

    Args:
        reads: the decoder's input, from ``<bos>`` on.
        says: the labels, one for each step; a pad means that nothing is asked there.
        pad: the token that fills up, as it is written here.
        title: what is seen.
        ax: where to draw; by default on a new figure.

    Raises:
        ValueError: rows of different lengths, empty ones, or labels that are not the next tokens.
    """
    _check(reads, says, pad)
    column = max(0.85, 0.25 + 0.1 * max(map(len, [*reads, *says])))
    ax = ax or new_axes(width=2.0 + column * len(reads), height=2.9)
    for step, (read, said) in enumerate(zip(reads, says, strict=True)):
        asked = said != pad
        _write(ax, (step, READS), read, PAD if read == pad else TOKEN)
        _write(ax, (step, SAYS), said, LABEL if asked else PAD)
        if asked:
            _arrow(ax, (step, READS), (step, SAYS), dashed=False)
            if step + 1 < len(reads):
                _arrow(ax, (step, SAYS), (step + 1, READS), dashed=True)
    ax.set(title=title, xlabel="step", xlim=(-0.6, len(reads) - 0.4), ylim=(-0.4, 1.4))
    ax.set_xticks(range(len(reads)))
    ax.set_yticks([READS, SAYS], ["decoder reads", "shall say"])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    n_asked = sum(said != pad for said in says)
    if n_asked < len(says):
        entry = Patch(**PAD, label="pad: nothing is asked here")
        ax.legend(handles=[entry], loc="upper right", bbox_to_anchor=(1.0, -0.12))
    return tell(
        ax,
        f"{title}: two rows of {len(reads)} tokens. The decoder reads {' '.join(reads)} and shall "
        f"say {' '.join(says)}; {n_asked} predictions are asked for.",
    )


def _check(reads: Sequence[str], says: Sequence[str], pad: str) -> None:
    if not reads or len(reads) != len(says):
        raise ValueError(
            f"there must be one label for each token that is read, got {len(reads)} tokens and "
            f"{len(says)} labels: use target[:, :-1] and target[:, 1:]"
        )
    for step, (said, read) in enumerate(zip(says, reads[1:], strict=False)):
        if said not in (pad, read):
            raise ValueError(
                f"the label of step {step} must be the token that is read next, {read!r}, "
                f"got {said!r}: are the labels moved by one?"
            )


def _write(ax: Axes, place: tuple[float, float], text: str, look: dict[str, Any]) -> None:
    box = {"boxstyle": "round,pad=0.35", **look}
    ax.text(*place, text, bbox=box, ha="center", va="center", fontsize=10)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], *, dashed: bool) -> None:
    look = {"arrowstyle": "->", "color": REFERENCE, "shrinkA": 15, "shrinkB": 15}
    look |= {"linestyle": "--"} if dashed else {"linewidth": 1.8}
    ax.annotate("", end, start, arrowprops=look)
