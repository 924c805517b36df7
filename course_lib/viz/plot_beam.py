"""The tree of a search: each word that was tried, how likely it made the beginning, its fate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from course_lib.viz.style import LINES, REFERENCE, figure_of, new_axes, styled
from course_lib.viz.alt_text import number, sentence, tell

Fate = Literal["kept", "ended", "dropped"]
Words = tuple[str, ...]

# A fate shows in its frame as well as in its colour, so that neither is needed alone.
FRAMES: dict[Fate, dict[str, Any]] = {
    "kept": {"facecolor": "#dbe9f6", "edgecolor": LINES[0], "linewidth": 1.2},
    "ended": {"facecolor": "#fde5cf", "edgecolor": "#333333", "linewidth": 2.0},
    "dropped": {"facecolor": "white", "edgecolor": "#999999", "linewidth": 1.0, "linestyle": "--"},
}
BEST = LINES[3]
COLUMN, CHARACTER, ROW = 0.35, 0.075, 0.45  # inches: least width of a step, a letter, a leaf


@dataclass(frozen=True)
class Branch:
    """One beginning of a sentence that a search has looked at."""

    words: Words  # from the first; the last one is the branch's own
    probability: float  # of all these words together
    fate: Fate = "kept"  # continued, finished, or left behind


@styled
def plot_beam(
    branches: Sequence[Branch],
    *,
    title: str,
    best: Sequence[str] = (),
    start: str = "<bos>",
    ax: Axes | None = None,
) -> Axes:
    """A tree that grows to the right, one step a column, the likeliest branch on top.

    Args:
        branches: in any order; each but the first words grows out of another.
        title: what is seen.
        best: the words of the branch whose path is drawn thick.
        start: stands at the root.
        ax: where to draw; by default on a new figure of fitting size.

    Raises:
        ValueError: there is no branch, two are the same, one has no words, grows out of nothing or
            out of one that was not kept, has a fate of no known kind, or ``best`` is none of them.
    """
    tree = {branch.words: branch for branch in branches}
    _check(branches, tree, tuple(best))
    places = _places(tree)
    depth = max(map(len, tree))
    if ax is None:
        longest = max(len(words[-1]) for words in tree)
        width = 1.0 + (depth + 1) * (COLUMN + CHARACTER * longest)
        leaves = 1 + max(row for _, row in places.values())
        ax = new_axes(width=max(7.2, width), height=1.7 + ROW * leaves)
    for words, (column, row) in places.items():
        if not words:
            continue
        on_path = tuple(best[: len(words)]) == words
        dropped = tree[words].fate == "dropped"
        parent = places[words[:-1]]
        colour, thickness = (BEST, 3.0) if on_path else (REFERENCE, 1.2)
        dashes = ":" if dropped else "-"
        ax.plot((parent[0], column), (parent[1], row), dashes, color=colour, lw=thickness, zorder=1)
    for words, place in places.items():
        _write(ax, place, tree[words] if words else None, start)
    fates = [fate for fate in get_args(Fate) if any(b.fate == fate for b in branches)]
    _explain(ax, fates, with_best=bool(best))
    ax.set(title=title, xlabel="words said", ylabel="beginnings, likeliest on top")
    ax.set_xlim(-0.45, depth + 0.45)
    ax.set_ylim(max(row for _, row in places.values()) + 0.6, -0.6)
    ax.set_xticks(range(depth + 1))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    return tell(ax, _in_words(tree, title, tuple(best)))


def _in_words(tree: Mapping[Words, Branch], title: str, best: Words) -> str:
    """Where its paths end, but for those that were left behind."""
    grown = {words[:-1] for words in tree}
    ranked = sorted(tree.values(), key=lambda branch: -branch.probability)
    ends = [b for b in ranked if b.words not in grown and b.fate != "dropped"] or ranked
    told = {
        f"{' '.join(b.words)!r}": f"{b.fate} with {number(b.probability)}"
        + (", the best" if b.words == best else "")
        for b in ends
    }
    return sentence(title, f"A tree of {len(tree)} beginnings, likeliest first", told)


def _check(branches: Sequence[Branch], tree: Mapping[Words, Branch], best: Words) -> None:
    if not branches:
        raise ValueError("a tree needs at least one branch, got none: did the search take a step?")
    if len(tree) != len(branches):
        raise ValueError(
            f"each branch must stand once, got {len(branches)} branches of which {len(tree)} "
            "differ: was a step recorded twice?"
        )
    for words, branch in tree.items():
        if not words:
            raise ValueError("a branch needs at least one word, got none: the root is drawn anyway")
        if branch.fate not in get_args(Fate):
            options = ", ".join(map(repr, get_args(Fate)))
            raise ValueError(f"fate must be one of {options}, got {branch.fate!r}")
        parent = tree.get(words[:-1])
        if len(words) > 1 and (parent is None or parent.fate != "kept"):
            raise ValueError(
                f"a branch must grow out of one that was kept, got {' '.join(words)!r}: "
                f"is {' '.join(words[:-1])!r} among the branches, and kept?"
            )
    if best and best not in tree:
        raise ValueError(f"best must be one of the branches, got {' '.join(best)!r}")


def _places(tree: Mapping[Words, Branch]) -> dict[Words, tuple[int, float]]:
    """Column and row of each branch and of the root, (); a parent is level with its children."""
    children: dict[Words, list[Words]] = defaultdict(list)
    for words in sorted(tree, key=lambda words: -tree[words].probability):
        children[words[:-1]].append(words)
    places: dict[Words, tuple[int, float]] = {}
    n_leaves = 0

    def put(words: Words) -> float:
        nonlocal n_leaves
        rows = [put(child) for child in children[words]]
        if not rows:
            rows, n_leaves = [float(n_leaves)], n_leaves + 1
        places[words] = len(words), (rows[0] + rows[-1]) / 2
        return places[words][1]

    put(())
    return places


def _write(ax: Axes, place: tuple[int, float], branch: Branch | None, start: str) -> None:
    text = start if branch is None else f"{branch.words[-1]}\n{_short(branch.probability)}"
    box = {"boxstyle": "round,pad=0.25", **FRAMES["kept" if branch is None else branch.fate]}
    faint = branch is not None and branch.fate == "dropped"
    colour = REFERENCE if faint else "black"
    ax.text(*place, text, bbox=box, ha="center", va="center", fontsize=9, color=colour, zorder=2)


def _short(probability: float) -> str:
    return f"{probability:.3f}" if probability >= 0.0005 else f"{probability:.0e}"


def _explain(ax: Axes, fates: Sequence[Fate], *, with_best: bool) -> None:
    frames = [Patch(**FRAMES[fate], label=fate) for fate in fates]
    path = [Line2D([], [], color=BEST, linewidth=3.0, label="best")] if with_best else []
    figure_of(ax).legend(handles=[*frames, *path], loc="outside lower left", ncols=4)
