"""Searches for the most probable sentence as trees: what each has kept, and what it left behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import brief, element, group, label, swing, text_width
from course_lib.viz.plots.plot_beam import Branch

Tokens = tuple[str, ...]
Spot = tuple[float, float, float]  # left edge, middle and width of a box
FIRST, ROW, BOX = 72.0, 48.0, 38.0  # the first row's middle; from row to row; a box's height
ROOT = "<bos>"
LEAST_GAP = 12.0  # between two columns
END = "<eos>"


def draw_beam_trees(
    searches: Mapping[str, Sequence[Branch]],
    *,
    language: Literal["german", "english"] = "english",
    caption: str = "",
) -> Drawing:
    """Draw searches as trees that grow to the right, the most probable branch on top.

    A column for each step. The sentence that a search has found, the most probable one that has
    ended, has the accent; what was left behind is outlined by dashes.

    Args:
        searches: title -> branches, in any order; each extends another by one token, or the root.
        language: of the tokens.
        caption: one sentence that a person would say.

    Raises:
        ValueError: no search, a branch that extends none that was kept, none that has ended, or
            more or longer words than there is room for.
    """
    if not searches:
        raise ValueError("expected at least one search, got none")
    return Drawing(
        *(_panel(title, branches, language) for title, branches in searches.items()),
        caption=caption,
    )


def _panel(title: str, branches: Sequence[Branch], language: str) -> Panel:
    tree = {branch.tokens: branch for branch in branches}
    for tokens in tree:
        before = tree.get(tokens[:-1])
        if not tokens or (len(tokens) > 1 and (before is None or before.fate != "kept")):
            raise ValueError(
                f"expected each branch to extend one that was kept, got {' '.join(tokens)!r}"
            )
    ended = [branch for branch in branches if branch.fate == "ended"]
    if not ended:
        raise ValueError(f"expected a branch that has ended in {title!r}, got none")
    best = max(ended, key=lambda branch: branch.probability)
    spots = _spots(tree)
    # What was left behind lies at the back, the way of the best in front.
    order = sorted(tree, key=lambda tokens: (_on_way(tokens, best), tree[tokens].fate != "dropped"))
    lines, boxes = [], [_box(spots[()], ROOT, None, look="best")]
    for tokens in order:
        dropped = tree[tokens].fate == "dropped"
        look = "best" if _on_way(tokens, best) else "dropped" if dropped else language
        lines.append(_line(spots[tokens[:-1]], spots[tokens], look=look))
        boxes.append(_box(spots[tokens], tokens[-1], tree[tokens].probability, look=look))
    sentence = " ".join(token for token in best.tokens if token != END)
    return Panel(
        title=title,
        note=f"finds “{sentence}”, {brief(best.probability, 4)}",
        description=_description(branches),
        body=group(*lines, fill="none") + "".join(boxes),
        height=max(y for _, y, _ in spots.values()) + BOX / 2 + 6,
    )


def _on_way(tokens: Tokens, best: Branch) -> bool:
    return best.tokens[: len(tokens)] == tokens


def _spots(tree: Mapping[Tokens, Branch]) -> dict[Tokens, Spot]:
    """Where each branch and the root, (), are drawn: a parent beside the middle of its children."""
    children: dict[Tokens, list[Tokens]] = defaultdict(list)
    for tokens in sorted(tree, key=lambda tokens: -tree[tokens].probability):
        children[tokens[:-1]].append(tokens)
    heights: dict[Tokens, float] = {}
    leaves: list[Tokens] = []

    def height_of(tokens: Tokens) -> float:
        rows = [height_of(child) for child in children[tokens]]
        if not rows:
            rows = [FIRST + ROW * len(leaves)]
            leaves.append(tokens)
        heights[tokens] = (rows[0] + rows[-1]) / 2
        return heights[tokens]

    height_of(())
    widths = [text_width(ROOT) + 10] + [
        max(
            max(text_width(tokens[-1], bold=True), text_width(brief(branch.probability, 4), 12))
            for tokens, branch in tree.items()
            if len(tokens) == depth
        )
        + 10
        for depth in range(1, max(map(len, tree)) + 1)
    ]
    gap = (WIDTH - 4 - sum(widths)) / (len(widths) - 1)
    if gap < LEAST_GAP:
        raise ValueError(
            f"{len(widths) - 1} steps with words of this length have no room in a panel of {WIDTH} "
            "pixels: draw fewer or shorter words"
        )
    lefts = [2 + sum(widths[:depth]) + gap * depth for depth in range(len(widths))]
    return {tokens: (lefts[len(tokens)], y, widths[len(tokens)]) for tokens, y in heights.items()}


def _line(parent: Spot, child: Spot, *, look: str) -> str:
    """From the right of a box to the left of the next."""
    return element(
        "path",
        d=swing((parent[0] + parent[2], parent[1]), (child[0], child[1])),
        stroke=ink("accent" if look == "best" else "line"),
        stroke_width=3 if look == "best" else 1.4,
        stroke_dasharray="4 3" if look == "dropped" else None,
    )


def _box(spot: Spot, word: str, probability: float | None, *, look: str) -> str:
    """A word and the probability of the prefix that it completes."""
    left, y, width = spot
    height = BOX if probability is not None else 26.0
    fill, border = {"best": ("page", "accent"), "dropped": ("none", "line")}.get(
        look, (f"{look}-box", look)
    )
    box = element(
        "rect",
        x=float(left),
        y=float(y - height / 2),
        width=float(width),
        height=float(height),
        rx=8,
        fill=ink(fill),
        stroke=ink(border),
        stroke_width=2.4 if look == "best" else 1,
        stroke_dasharray="4 3" if look == "dropped" else None,
    )
    middle = left + width / 2
    if probability is None:
        return box + label((middle, y), word)
    cls = "bold" if look == "best" else None
    colour = "soft" if look == "dropped" else None
    return (
        box
        + label((middle, y - 7), word, cls=cls, colour=colour)
        + label((middle, y + 9), brief(probability, 4), cls="aside")
    )


def _description(branches: Sequence[Branch]) -> str:
    """Step by step, what was kept and what was left behind."""
    told = []
    for step in range(1, max(len(branch.tokens) for branch in branches) + 1):
        ranked = sorted(
            (branch for branch in branches if len(branch.tokens) == step),
            key=lambda branch: -branch.probability,
        )
        named = {
            kept: ", ".join(
                f"{' '.join(branch.tokens)} {brief(branch.probability, 4)}"
                for branch in ranked
                if (branch.fate != "dropped") == kept
            )
            for kept in (True, False)
        }
        behind = f"; left behind: {named[False]}" if named[False] else ""
        told.append(f"Step {step}: {named[True]}{behind}.")
    return " ".join(told)
