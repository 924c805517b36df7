"""Lesson 05: what an einsum does with each axis."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from ipywidgets import Combobox
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Patch

from course_lib.errors import CourseError
from course_lib.viz.alt_text import listed
from course_lib.viz.style import ACCENT, FILL, INK, LINE, PAGE, figure_of, new_axes, styled
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

# Different sizes where axes could be confused; other letters have size 2.
SIZES = {"b": 2, "h": 3, "q": 5, "k": 7, "e": 4, "s": 6, "d": 12, "i": 3, "j": 4}
OTHER_SIZE = 2
MAX_LETTERS = 8
EXAMPLES = {
    "bhqe,bhke->bhqk": "scores",
    "bhqk,bhke->bhqe": "context",
    "bsd,dhe->bhse": "projection into heads",
    "bhse,hed->bsd": "heads merged and projected",
    "bhqe,bhke->bqhk": "scores in another order",
    "bhqk->bhkq": "transpose",
    "bhqk->bhq": "row sums",
    "ij,jk->ik": "matrix product",
    "i,j->ij": "outer product",
    "ii->": "trace",
}
ROLES: dict[str, dict[str, Any]] = {
    "matched": {"facecolor": FILL, "edgecolor": INK, "linewidth": 1.5},
    "kept": {"facecolor": PAGE, "edgecolor": LINE, "linewidth": 1.5},
    "summed over": {"facecolor": PAGE, "edgecolor": ACCENT, "linewidth": 2.0, "hatch": "//"},
}


@dataclass(frozen=True)
class Subscripts:
    """The subscripts of an einsum, parsed: the letters of each operand and of the result."""

    operands: tuple[str, ...]
    result: str

    @property
    def letters(self) -> str:
        """Each letter once: those of the result in order, then those that are summed over."""
        return "".join(dict.fromkeys(self.result + "".join(self.operands)))

    def role(self, letter: str) -> str:
        """The role of a letter, a key of ROLES."""
        if letter not in self.result:
            return "summed over"
        return "matched" if sum(letter in o for o in self.operands) > 1 else "kept"

    def formula(self) -> str:
        """The same written with indices, such as result[i,k] = Σ over j of A[i,j] · B[j,k]."""
        summed = "".join(c for c in self.letters if c not in self.result)
        sign = f"Σ over {', '.join(summed)} of " if summed else ""
        factors = [f"{'ABC'[i]}[{','.join(o)}]" for i, o in enumerate(self.operands)]
        return f"result[{','.join(self.result)}] = {sign}{' · '.join(factors)}"


def parse_subscripts(text: str) -> Subscripts:
    """Parse "bhqe,bhke->bhqk"; spaces are ignored.

    Raises:
        CourseError: the text is not an einsum of one to three operands.
    """
    found = re.fullmatch(r"([a-zA-Z]+(?:,[a-zA-Z]+){0,2})->([a-zA-Z]*)", text.replace(" ", ""))
    if not found:
        raise CourseError(
            "subscripts must be letters for one to three operands, an arrow and the letters of the "
            f'result, such as "ij,jk->ik", got {text!r}: is a comma or the arrow missing?'
        )
    operands, result = tuple(found[1].split(",")), found[2]
    for letter in result:
        if not any(letter in operand for operand in operands):
            raise CourseError(
                f"the result has the letter {letter!r}, which no operand has: an einsum cannot "
                "make a new axis"
            )
        if result.count(letter) > 1:
            raise CourseError(f"the result may have each letter once, got {letter!r} twice")
    parsed = Subscripts(operands, result)
    if len(parsed.letters) > MAX_LETTERS:
        raise CourseError(
            f"at most {MAX_LETTERS} different letters can be drawn, got {len(parsed.letters)}"
        )
    return parsed


def einsum_widget() -> InteractiveFigure:
    """Type subscripts; see which axes are matched, kept and summed over, and the result's shape."""

    def draw(subscripts: str) -> DrawnFigure:
        parsed = parse_subscripts(subscripts)
        size = {c: SIZES.get(c, OTHER_SIZE) for c in parsed.letters}
        shape = tuple(size[c] for c in parsed.result)
        ax = _draw_axes(parsed, size)
        parts = []
        for role in ROLES:
            letters = [c for c in parsed.letters if parsed.role(c) == role]
            if letters:
                verb = "is" if len(letters) == 1 else "are"
                parts.append(f"{listed(letters)} {verb} {role}")
        unmatched = [
            c
            for c in parsed.letters
            if c not in parsed.result and "".join(parsed.operands).count(c) == 1
        ]
        text = (
            f"{'; '.join(parts)}. The result has shape {shape}; {prod(size.values()):,} products."
        )
        if unmatched and len(parsed.operands) > 1:
            text += f" Only one operand has {listed(unmatched)}: was it meant to be summed over?"
        name = EXAMPLES.get(subscripts.replace(" ", ""))
        return ax, f"{name.capitalize()}: {text}" if name else text

    typed = Combobox(
        value=next(iter(EXAMPLES)),
        options=list(EXAMPLES),
        description="subscripts",
        ensure_option=False,  # the options are suggestions
        continuous_update=False,
        style={"description_width": "initial"},
    )
    return interact(draw, subscripts=typed)


@styled
def _draw_axes(parsed: Subscripts, size: Mapping[str, int]) -> Axes:
    """A row for each tensor, a column for each letter: one column is one axis."""
    rows = [*zip("ABC", parsed.operands, strict=False), ("result", parsed.result)]
    ax = new_axes(width=6.96, height=1.5 + 0.9 * len(rows))
    for row, (name, letters) in enumerate(rows):
        ax.text(-0.75, row, name, ha="right", va="center", fontsize=12)
        for column, letter in enumerate(parsed.letters):
            if letter in letters:
                _draw_box(
                    ax, column, row, letters, letter, size=size[letter], role=parsed.role(letter)
                )
            elif name == "result":
                ax.text(column, row, "Σ", ha="center", va="center", fontsize=15, color=ACCENT)
    ax.set_xlim(-1.7, max(6, len(parsed.letters)) - 0.4)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_axis_off()
    ax.set_title(parsed.formula())
    roles = [role for role in ROLES if any(parsed.role(c) == role for c in parsed.letters)]
    handles = [Patch(**ROLES[role], label=role) for role in roles]
    figure_of(ax).legend(handles=handles, loc="outside lower left", ncols=3)
    return ax


def _draw_box(
    ax: Axes, column: int, row: int, letters: str, letter: str, *, size: int, role: str
) -> None:
    box = FancyBboxPatch(
        (column - 0.4, row - 0.36),
        0.8,
        0.72,
        boxstyle="round,pad=0,rounding_size=0.08",
        **ROLES[role],
    )
    ax.add_patch(box)
    positions = ", ".join(str(i) for i, c in enumerate(letters) if c == letter)
    backing = {"facecolor": box.get_facecolor(), "edgecolor": "none", "pad": 1.0}
    ax.text(column, row - 0.17, letter, ha="center", va="center", fontsize=14, bbox=backing)
    text = f"{'axes' if ',' in positions else 'axis'} {positions}\nsize {size}"
    ax.text(column, row + 0.15, text, ha="center", va="center", fontsize=9, bbox=backing)
