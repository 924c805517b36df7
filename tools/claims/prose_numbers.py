"""Does every number in a lesson's prose have a source: its code, its output, or a citation?

    python -m tools.claims.prose_numbers        # how many of each kind, per lesson

Not counted are references (sections, lessons, items of a list, years of publication), the minutes
that a lesson takes, code, links, and the indices of a formula. A single digit needs no source.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from html import unescape
from pathlib import Path

from nbformat import NotebookNode

from tools import ROOT
from tools.notebooks.notebook_normal_form import read

FACTS = Path(__file__).with_name("facts.toml")
LARGEST_COUNT = 9  # a whole number of one digit counts or names things: heads, words, steps
SCALES = {"million": 10**6, "billion": 10**9}
SIGNS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8"}
NUMBER = re.compile(
    rf"""(?<![\w.^]) (?P<minus>(?<![\d)\]}}]\ )[-−])?
    (?: (?P<digits>\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)? | \d+(?:\.\d+)?)
        (?:[eE](?P<power>-?\d+|\+\d\d))? (?:\s(?P<scale>{"|".join(SCALES)})\b)?
      | (?P<fraction>[{"".join(SIGNS)}]) )
    (?P<percent>\s?\\?%)?""",
    re.VERBOSE,
)
REFERENCE = "section|figure|equation|table|lesson|question|exhibit|chapter|appendix|head"
YEAR = r"(?:19\d\d|20(?:0[1-9]|[12]\d))\b"  # 2000 is more often a count
NO_NUMBERS = [
    re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL),
    re.compile(r"`[^`]+`"),
    re.compile(r"(?:\[\d\d)?\]\((?:[^()]|\([^()]*\))*\)"),  # a link's target, a lesson's number
    re.compile(r"</?[a-z][^<>]*>"),
    re.compile(r"^[\s>]*(?:#+ \d+[.·]?|\d+\.)\s", re.MULTILINE),  # headings, items of lists
    re.compile(r"^\*\*Time\*\*.*| · \d+ min$", re.MULTILINE),
    re.compile(
        rf"\b(?:{REFERENCE})s?\s\d[\d.]*(?:(?:, | and | or | to |[–-])\d[\d.]*)*", re.IGNORECASE
    ),
    re.compile(rf"(?:\(|, |\bal\. |\b[Ii]n |\bof |\b[Bb]efore ){YEAR}"),
    re.compile(r"[_^]\{[^{}]*\}"),
]
SCRIPT = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)
MAGIC = re.compile(r"^(\s*)[%!].*", re.MULTILINE)


@dataclass(frozen=True)
class Number:
    """A number as it is written; `unit` is the size of its last digit."""

    text: str
    value: Fraction
    unit: Fraction
    percent: bool

    @property
    def counts(self) -> bool:
        """Whether it is a small whole number, which names or counts things."""
        return not self.percent and self.value.denominator == 1 and abs(self.value) <= LARGEST_COUNT


@dataclass(frozen=True)
class Fact:
    """A number that others chose or found: which lessons may quote it, and its source."""

    number: str
    lessons: list[str]
    what: str
    source: str


def prose_numbers_have_a_source(path: Path, notebook: NotebookNode) -> list[str]:
    """The numbers of the prose that are not printed, not set in code, and not in facts.toml."""
    return [
        f"cell {cell!r}: {number.text!r} is neither printed nor set by the lesson's code, nor cited"
        f" in {FACTS.name}; print it, cite it, or say it without a number"
        for cell, number, kind in classified(path, notebook)
        if kind is None
    ]


def classified(path: Path, notebook: NotebookNode) -> Iterator[tuple[str, Number, str | None]]:
    """(cell id, number, the kind of its source or None) for each number of the prose."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    cited = [fact.number for fact in facts() if path.stem[:2] in fact.lessons]
    sources = {
        "cited": {number for text in cited for number in numbers(text)},
        "set in code": {number for cell in code for number in constants(cell.source)},
        "printed": {number for cell in code for number in computed(cell)},
    }
    for cell in notebook.cells:
        for number in prose_numbers(cell.source) if cell.cell_type == "markdown" else ():
            kinds = (
                kind
                for kind, known in sources.items()
                if any(agrees(number, one, rounded=kind == "printed") for one in known)
            )
            yield cell.id, number, "counts" if number.counts else next(kinds, None)


def prose_numbers(source: str) -> list[Number]:
    """The numbers that a reader of this Markdown takes for a statement."""
    for pattern in NO_NUMBERS:
        source = pattern.sub(" … ", source)
    return list(numbers(source.replace("{,}", ",")))


def numbers(text: str) -> Iterator[Number]:
    """Every number in a text, with its sign, `1,000`, `1e-9`, `4.5 million`, `½` and `90 %`."""
    for found in NUMBER.finditer(text):
        if found["fraction"]:
            value, unit = Fraction(SIGNS[found["fraction"]]), Fraction(1, 1000)
        else:
            digits = Decimal(found["digits"].replace(",", "") + "e" + (found["power"] or "0"))
            scale = SCALES.get(found["scale"], 1)
            value = Fraction(digits) * scale
            unit = Fraction(10) ** int(digits.as_tuple().exponent) * scale
        yield Number(found[0], -value if found["minus"] else value, unit, bool(found["percent"]))


def computed(cell: NotebookNode) -> list[Number]:
    """The numbers that a cell shows, but for those that are written out in its own strings."""
    shown: list[Number] = []
    for output in cell.outputs:
        data = output.get("data", {})
        page = re.sub(r"<[^<>]*>", " ", SCRIPT.sub(" ", data.get("text/html", "")))
        for text in (output.get("text"), output.get("evalue"), data.get("text/plain"), page):
            shown += numbers(unescape(text or ""))
    written = {number.value for text in _strings(_tree(cell.source)) for number in numbers(text)}
    return [number for number in shown if number.value not in written]


def constants(source: str) -> Iterator[Number]:
    """The numbers that a code cell sets or asserts, with and without their sign."""
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Constant | ast.UnaryOp):
            try:
                value = ast.literal_eval(node)
            except ValueError:  # `not found`, `-size`
                continue
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield from numbers(str(value))


def facts() -> list[Fact]:
    """The cited numbers of facts.toml."""
    return _facts_in(FACTS.read_text("utf-8"))


@cache
def _facts_in(text: str) -> list[Fact]:
    return [Fact(**entry) for entry in tomllib.loads(text)["fact"]]


def agrees(number: Number, source: Number, *, rounded: bool) -> bool:
    """`number` is `source`, perhaps rounded to its digits: 0.895 is 0.9, 89.5 % and 90 %."""
    scale = Fraction(100) ** (number.percent - source.percent)
    slack = number.unit / 2 if rounded else 0
    value = source.value * scale
    if number.value >= 0:  # "falls by 0.3"
        value = abs(value)
    return abs(value - number.value) <= slack


def _tree(source: str) -> ast.AST:
    return ast.parse(MAGIC.sub(r"\1pass", source))


def _strings(node: ast.AST) -> Iterator[str]:
    """The strings of some code, without the formats in f-strings."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    inside = [node.value] if isinstance(node, ast.FormattedValue) else ast.iter_child_nodes(node)
    for child in inside:
        yield from _strings(child)


def main() -> None:
    """Print, for each lesson, how many numbers its prose holds and what their sources are."""
    total: Counter[str] = Counter()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        kinds = Counter(kind or "no source" for _, _, kind in classified(path, read(path)))
        total += kinds
        print(f"{path.stem}: {kinds.total()}", dict(kinds.most_common()))
    print(f"all: {total.total()}", dict(total.most_common()))


if __name__ == "__main__":
    main()
