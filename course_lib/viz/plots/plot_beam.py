"""The tree of a beam search: every prefix it tried, with its probability and its fate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from course_lib.viz.alt_text import alt_sentence, set_alt_text, short_number
from course_lib.viz.style import (
    ACCENT,
    FILL,
    INK,
    LINE,
    PAGE,
    REFERENCE,
    figure_of,
    new_axes,
    styled,
)

Fate = Literal["kept", "ended", "dropped"]
Tokens = tuple[str, ...]

# Each fate has a frame as well as a colour, so that colour is not needed to tell them apart.
FRAMES: dict[Fate, dict[str, Any]] = {
    "kept": {"facecolor": FILL, "edgecolor": LINE, "linewidth": 1.2},
    "ended": {"facecolor": FILL, "edgecolor": INK, "linewidth": 2.2},
    "dropped": {"facecolor": PAGE, "edgecolor": LINE, "linewidth": 1.0, "linestyle": "--"},
}
BEST = ACCENT
ROOT = "<bos>"
COLUMN, CHARACTER, ROW = 0.35, 0.075, 0.45  # inches: least width of a step, a letter, a leaf


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

    Args:
        branches: in any order; each extends another by one token, or the root.
        title: what the picture shows.
        best: the tokens of the branch whose path is drawn thick.

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
    ax = new_axes(width=max(7.2, width), height=1.7 + ROW * leaves)
    for prefix, (column, row) in positions.items():
        if not prefix:
            continue
        on_path = tuple(best[: len(prefix)]) == prefix
        dropped = tree[prefix].fate == "dropped"
        parent = positions[prefix[:-1]]
        colour, thickness = (BEST, 3.0) if on_path else (REFERENCE, 1.2)
        dashes = ":" if dropped else "-"
        ax.plot((parent[0], column), (parent[1], row), dashes, color=colour, lw=thickness, zorder=1)
    for prefix, position in positions.items():
        _draw_box(ax, position, tree[prefix] if prefix else None)
    fates = [fate for fate in get_args(Fate) if any(b.fate == fate for b in branches)]
    _draw_legend(ax, fates, with_best=bool(best))
    ax.set(title=title, xlabel="generated tokens", ylabel="prefixes, by probability")
    ax.set_xlim(-0.45, depth + 0.45)
    ax.set_ylim(max(row for _, row in positions.values()) + 0.6, -0.6)
    ax.set_xticks(range(depth + 1))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
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


def _draw_box(ax: Axes, position: tuple[int, float], branch: Branch | None) -> None:
    text = ROOT if branch is None else f"{branch.tokens[-1]}\n{_short(branch.probability)}"
    box = {"boxstyle": "round,pad=0.25", **FRAMES["kept" if branch is None else branch.fate]}
    faint = branch is not None and branch.fate == "dropped"
    colour = REFERENCE if faint else INK
    ax.text(*position, text, bbox=box, ha="center", va="center", fontsize=9, color=colour, zorder=2)


def _short(probability: float) -> str:
    return f"{probability:.3f}" if probability >= 0.0005 else f"{probability:.0e}"


def _draw_legend(ax: Axes, fates: Sequence[Fate], *, with_best: bool) -> None:
    frames = [Patch(**FRAMES[fate], label=fate) for fate in fates]
    path = [Line2D([], [], color=BEST, linewidth=3.0, label="best")] if with_best else []
    figure_of(ax).legend(handles=[*frames, *path], loc="outside lower left", ncols=4)
