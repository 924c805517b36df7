"""Teacher forcing, token by token: what the decoder reads, and what it should predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course_lib.viz.alt_text import set_alt_text
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.style import HATCHED, REFERENCE, new_axes, styled

INPUT_ROW, LABEL_ROW = 1.0, 0.0  # heights of the two rows
TOKEN: dict[str, Any] = {  # of English, which the decoder reads and writes
    "facecolor": COLOURS["english-box"].light,
    "edgecolor": COLOURS["english"].light,
    "linewidth": 1.2,
}
HIDDEN = HATCHED | {"linewidth": 1.2}
PAD = "<pad>"


@styled
def plot_teacher_forcing(
    inputs: Sequence[str],
    labels: Sequence[str],
    *,
    title: str = "The same sentence twice, shifted by one",
) -> Axes:
    """Two rows of tokens. Each solid arrow down is a prediction; each dashed arrow up shows that
    the correct token is read next, whatever was predicted.

    Args:
        inputs: the decoder's input, from ``<bos>`` on.
        labels: one for each input token; ``<pad>`` means that no prediction is scored there.
        title: what the picture shows.

    Raises:
        ValueError: rows of different lengths, empty ones, or labels that are not the next tokens.
    """
    _check(inputs, labels)
    column = max(0.85, 0.25 + 0.1 * max(map(len, [*inputs, *labels])))
    ax = new_axes(width=max(6.96, 2.0 + column * len(inputs)), height=2.6)
    for step, (token, label) in enumerate(zip(inputs, labels, strict=True)):
        scored = label != PAD
        _draw_box(ax, (step, INPUT_ROW), token, HIDDEN if token == PAD else TOKEN)
        _draw_box(ax, (step, LABEL_ROW), label, TOKEN if scored else HIDDEN)
        if scored:
            _draw_arrow(ax, (step, INPUT_ROW), (step, LABEL_ROW), dashed=False)
            if step + 1 < len(inputs):
                _draw_arrow(ax, (step, LABEL_ROW), (step + 1, INPUT_ROW), dashed=True)
    ax.set(title=title, xlabel="step", xlim=(-0.6, len(inputs) - 0.4), ylim=(-0.4, 1.4))
    ax.set_xticks(range(len(inputs)))
    ax.set_yticks([INPUT_ROW, LABEL_ROW], ["decoder reads", "target"])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    n_scored = sum(label != PAD for label in labels)
    if n_scored < len(labels):
        entry = Patch(**HIDDEN, label="pad: not scored")
        ax.legend(handles=[entry], loc="upper right", bbox_to_anchor=(1.0, -0.12))
    return set_alt_text(
        ax,
        f"{title}: two rows of {len(inputs)} tokens. The decoder reads {' '.join(inputs)} and "
        f"should predict {' '.join(labels)}; {n_scored} predictions are scored.",
    )


def _check(inputs: Sequence[str], labels: Sequence[str]) -> None:
    if not inputs or len(inputs) != len(labels):
        raise ValueError(
            f"there must be one label for each token that is read, got {len(inputs)} tokens and "
            f"{len(labels)} labels: use target[:, :-1] and target[:, 1:]"
        )
    for step, (label, following) in enumerate(zip(labels, inputs[1:], strict=False)):
        if label not in (PAD, following):
            raise ValueError(
                f"the label of step {step} must be the token that is read next, {following!r}, "
                f"got {label!r}: are the labels shifted by one?"
            )


def _draw_box(ax: Axes, position: tuple[float, float], text: str, look: dict[str, Any]) -> None:
    box = {"boxstyle": "round,pad=0.35", **look}
    ax.text(*position, text, bbox=box, ha="center", va="center", fontsize=10)


def _draw_arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], *, dashed: bool
) -> None:
    look = {"arrowstyle": "->", "color": REFERENCE, "shrinkA": 15, "shrinkB": 15}
    look |= {"linestyle": "--"} if dashed else {"linewidth": 1.8}
    ax.annotate("", end, start, arrowprops=look)
