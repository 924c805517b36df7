"""The tree of a beam search: every prefix it tried, with its probability and its fate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.offsetbox import AnnotationBbox, TextArea, VPacker
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from course_lib.viz.alt_text import alt_sentence, set_alt_text, short_number
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.style import ACCENT, INK, LINE, PAGE, SOFT, WIDTH, new_axes, styled

Fate = Literal["kept", "ended", "dropped"]
Tokens = tuple[str, ...]
Spot = tuple[float, float]  # step, row

Look = Literal["best", "found", "dropped"]

# As in the drawings of searches. What was left behind is dashed, so that colour is not needed.
FRAMES: dict[Look, dict[str, Any]] = {
    "best": {"facecolor": PAGE, "edgecolor": ACCENT, "linewidth": 2.0},
    "found": {
        "facecolor": COLOURS["english-box"].light,
        "edgecolor": COLOURS["english"].light,
        "linewidth": 1.0,
    },
    "dropped": {"facecolor": PAGE, "edgecolor": LINE, "linewidth": 1.0, "linestyle": (0, (4, 3))},
}
LINES: dict[Look, dict[str, Any]] = {
    "best": {"edgecolor": ACCENT, "linewidth": 2.4, "zorder": 1.2},
    "found": {"edgecolor": LINE, "linewidth": 1.2, "zorder": 1.1},
    "dropped": {"edgecolor": LINE, "linewidth": 1.2, "linestyle": (0, (4, 3)), "zorder": 1.0},
}
ROOT = "<bos>"
COLUMN, CHARACTER, ROW = 0.35, 0.08, 0.48  # inches: least width of a step, a letter, a leaf
DIGITS = 4  # of a probability


@dataclass(frozen=True)
class Branch:
    """One prefix that a search has looked at."""

    tokens: Tokens  # all of them; the last one is what this branch adds
    probability: float  # of the whole prefix
    fate: Fate = "kept"  # extended, finished, or pruned


@styled
def plot_beam(
    branches: Sequence[Branch],
    *,
    title: str,
    best: Sequence[str] = (),
) -> Axes:
    """A tree that grows to the right, a column for each step, the most probable branch on top.

    Words stand in the boxes of English, which the decoder writes.

    Args:
        branches: in any order; each extends another by one token, or the root.
        title: what the picture shows.
        best: the tokens of the branch whose path has the accent.

    Raises:
        ValueError: there is no branch, two are the same, one has no tokens, one extends a prefix
            that is missing or was not kept, a fate is unknown, or ``best`` is none of the branches.
    """
    tree = {branch.tokens: branch for branch in branches}
    _check(branches, tree, tuple(best))
    positions = _positions(tree)
    depth = max(map(len, tree))
    longest = max(len(prefix[-1]) for prefix in tree)
    width = 1.0 + (depth + 1) * (COLUMN + CHARACTER * longest)
    leaves = 1 + max(row for _, row in positions.values())
    ax = new_axes(width=max(WIDTH, width), height=1.2 + ROW * leaves)
    for prefix, position in positions.items():
        on_way = bool(best) and tuple(best[: len(prefix)]) == prefix
        dropped = bool(prefix) and tree[prefix].fate == "dropped"
        look: Look = "best" if on_way else "dropped" if dropped else "found"
        if prefix:
            _draw_line(ax, positions[prefix[:-1]], position, look)
        _draw_box(ax, position, tree[prefix] if prefix else None, look)
    ax.set_title(title)
    ax.set_xlim(-0.35, depth + 0.45)
    ax.set_ylim(leaves - 0.4, -0.6)
    ax.set_xticks(range(1, depth + 1), [f"step {step}" for step in range(1, depth + 1)])
    ax.tick_params(axis="x", length=0, labeltop=True, labelbottom=False, labelcolor=SOFT)
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return set_alt_text(ax, _alt_text(tree, title, tuple(best)))


def _alt_text(tree: Mapping[Tokens, Branch], title: str, best: Tokens) -> str:
    """Where the paths end, except those that were pruned."""
    extended = {prefix[:-1] for prefix in tree}
    ranked = sorted(tree.values(), key=lambda branch: -branch.probability)
    ends = [b for b in ranked if b.tokens not in extended and b.fate != "dropped"] or ranked
    endings = {
        f"{' '.join(b.tokens)!r}": f"{b.fate} with {short_number(b.probability)}"
        + (", the best" if b.tokens == best else "")
        for b in ends
    }
    return alt_sentence(title, f"A tree of {len(tree)} prefixes, most probable first", endings)


def _check(branches: Sequence[Branch], tree: Mapping[Tokens, Branch], best: Tokens) -> None:
    if not branches:
        raise ValueError("a tree needs at least one branch, got none: did the search take a step?")
    if len(tree) != len(branches):
        raise ValueError(
            f"each branch must be given once, got {len(branches)} branches, only {len(tree)} of "
            "them different: was a step recorded twice?"
        )
    for prefix, branch in tree.items():
        if not prefix:
            raise ValueError(
                "a branch needs at least one token, got none: the root is always drawn"
            )
        if branch.fate not in get_args(Fate):
            options = ", ".join(map(repr, get_args(Fate)))
            raise ValueError(f"fate must be one of {options}, got {branch.fate!r}")
        parent = tree.get(prefix[:-1])
        if len(prefix) > 1 and (parent is None or parent.fate != "kept"):
            raise ValueError(
                f"a branch must extend one that was kept, got {' '.join(prefix)!r}: "
                f"is {' '.join(prefix[:-1])!r} among the branches, and kept?"
            )
    if best and best not in tree:
        raise ValueError(f"best must be one of the branches, got {' '.join(best)!r}")


def _positions(tree: Mapping[Tokens, Branch]) -> dict[Tokens, tuple[int, float]]:
    """Column and row of each branch and of the root, (); a parent is centred on its children."""
    children: dict[Tokens, list[Tokens]] = defaultdict(list)
    for prefix in sorted(tree, key=lambda prefix: -tree[prefix].probability):
        children[prefix[:-1]].append(prefix)
    positions: dict[Tokens, tuple[int, float]] = {}
    n_leaves = 0

    def lay_out(prefix: Tokens) -> float:
        nonlocal n_leaves
        rows = [lay_out(child) for child in children[prefix]]
        if not rows:
            rows, n_leaves = [float(n_leaves)], n_leaves + 1
        positions[prefix] = len(prefix), (rows[0] + rows[-1]) / 2
        return positions[prefix][1]

    lay_out(())
    return positions


def _draw_line(ax: Axes, start: Spot, end: Spot, look: Look) -> None:
    """From middle to middle, level at both ends; the boxes hide what lies behind them."""
    middle = (start[0] + end[0]) / 2
    points = [start, (middle, start[1]), (middle, end[1]), end]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    ax.add_patch(PathPatch(path, facecolor="none", **LINES[look]))


def _draw_box(ax: Axes, position: Spot, branch: Branch | None, look: Look) -> None:
    word = ROOT if branch is None else branch.tokens[-1]
    weight = "bold" if look == "best" and branch else "normal"
    letters = {"color": SOFT if look == "dropped" else INK, "weight": weight, "size": 10}
    lines: list[Artist] = [TextArea(word, textprops=letters)]
    if branch is not None:
        small = {"color": SOFT, "size": 8.7}
        lines.append(TextArea(told(branch.probability), textprops=small))
    inside = VPacker(children=lines, align="center", pad=0, sep=2)
    frame = {"boxstyle": "round,pad=0.35,rounding_size=0.55", **FRAMES[look]}
    ax.add_artist(AnnotationBbox(inside, position, pad=0, bboxprops=frame, zorder=2))


def told(probability: float) -> str:
    """A probability as the boxes give it: 0.45, 0.1215, or < 0.0001."""
    least = 10**-DIGITS
    return f"{round(probability, DIGITS):g}" if probability >= least else f"< {least:.{DIGITS}f}"
