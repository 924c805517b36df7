"""Where systems differ from the paper, or two from each other: a table beside the model's parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from course_lib.model import TransformerConfig
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import element, label, stream, text_width
from course_lib.wording import power_of_ten

BOX, BOX_AT = 118.0, 1.0  # width and left edge of a part's box
DECISION_AT, HEADS = 132.0, 38.0  # where decisions begin, and the first line of heads
LEADING = 15.0  # from one line of a head to the next
ROW, SHORTEST, GAP = 20.0, 26.0, 10.0  # the heights of a row, a box, and what is between two boxes
WIDEST = 880.0  # a full column
NEAREST, FARTHEST = 14.0, 28.0  # between two columns
PAPER = "paper"
VOCABULARY = ("source_vocab", "target_vocab")  # sizes of the data, not decisions
# The paper does not say, or its equations have no biases: what its preset says is in brackets.
SILENT = ("pad_id", "max_len", "norm_eps", "attention", "attention_bias")
KEY = "( ) not in the paper: this course's choice"
EMPTY = "empty: the same"
RATIOS = {0.125: "⅛", 0.25: "¼", 0.5: "½", 2: "2", 4: "4", 8: "8"}


class Spot(NamedTuple):
    """A part of the model, and the decisions that are made there, each with its short name."""

    name: str
    decisions: Mapping[str, str]


# In the order in which the model meets them.
SPOTS = (
    Spot(
        "Embeddings",
        {
            "scale_embeddings": "scaled",
            "source_embedding_dropout": "dropout, source",
            "target_embedding_dropout": "dropout, target",
            "pad_id": "padding id",
        },
    ),
    Spot("Positions", {"positions": "kind", "layout": "order", "max_len": "longest"}),
    Spot("Blocks", {"n_layers": "how many", "d_model": "width"}),
    Spot(
        "Attention",
        {
            "n_heads": "heads",
            "d_head": "width of one",
            "attention_bias": "biases",
            "attention_dropout": "dropout",
            "attention": "code",
        },
    ),
    Spot(
        "Feed-forward",
        {
            "d_ff": "hidden width",
            "activation": "activation",
            "feed_forward_bias": "biases",
            "feed_forward_dropout": "dropout",
        },
    ),
    Spot(
        "Add & norm",
        {
            "norm": "norm",
            "norm_affine": "scale and shift",
            "norm_eps": "ε",
            "residual_dropout": "dropout",
            "final_norm": "final norm",
        },
    ),
    Spot("Output", {"tying": "tied tables", "output_bias": "bias"}),
)


class Column(NamedTuple):
    """A system: the lines of its head, and what its cells say, one for each row."""

    head: Sequence[str]
    cells: Sequence[str]
    note: str = ""
    bold: bool = False

    @property
    def width(self) -> float:
        """That of its longest words."""
        words = [*self.head, *self.cells, self.note]
        return max(text_width(word, 12, bold=self.bold or word in self.head) for word in words)


def draw_systems(
    systems: Mapping[str, TransformerConfig],
    *,
    paper: TransformerConfig,
    against: str = PAPER,
    caption: str = "",
) -> Drawing:
    """Draw in which decisions systems differ from the paper, in the order of the model's parts.

    A cell is empty where a system does as the paper. A head's width is compared as it results. The
    sizes of the vocabularies are left out. For one system, simple ratios of numbers are written.

    Args:
        systems: name -> configuration, such as ``preset(name)``.
        paper: the configuration that they are compared with.
        against: the name of that configuration, if it is not the paper's.
        caption: one sentence below.

    Raises:
        ValueError: no system, or more than there is room for.
    """
    if not systems:
        raise ValueError("expected at least one system to compare with the paper, got none")
    theirs = _values(paper)
    changes = {
        name: {d: value for d, value in _values(config).items() if value != theirs[d]}
        for name, config in systems.items()
    }
    parts = {
        spot.name: [d for d in spot.decisions if any(d in changed for changed in changes.values())]
        for spot in SPOTS
    }
    rows = [d for decisions in parts.values() for d in decisions]
    published = {d: _published(d, theirs[d], against) for d in rows}
    columns = _columns(changes, rows, len(theirs))
    columns.append(Column([against], list(published.values())))
    if len(changes) == 1:
        (changed,) = changes.values()
        ratios = [_ratio(changed[d], theirs[d]) for d in rows]
        columns += [Column(["ratio"], ratios)] if any(ratios) else []
    panel = _table(
        _title(changes, against, len(theirs)),
        _told(changes, published, against),
        parts=parts,
        columns=columns,
        keys=_keys(rows, against, several=len(changes) > 1),
    )
    return Drawing(panel, caption=caption, wide=panel.width > WIDTH)


Changes = Mapping[str, Mapping[str, object]]  # system -> decision -> value
WORDS = {d: f"{spot.name}, {words}" for spot in SPOTS for d, words in spot.decisions.items()}


def _columns(changes: Changes, rows: Sequence[str], n: int) -> list[Column]:
    return [
        Column(
            _lines(name) if len(changes) > 1 else [name],
            [_written(changed[d]) if d in changed else "" for d in rows],
            note=f"{len(changed)} of {n}" if len(changes) > 1 else "",
            bold=True,
        )
        for name, changed in changes.items()
    ]


def _lines(name: str) -> list[str]:
    """A long name in two lines, so that columns are equally wide."""
    first, joint, rest = name.partition("_")
    return [first + joint, rest] if rest else [name]


def _told(changes: Changes, published: Mapping[str, str], against: str) -> str:
    sentences = []
    for name, changed in changes.items():
        sentences.append(f"{name} differs in {len(changed)}.")
        sentences += [
            f"{WORDS[d]}: {_written(value)}, {against} {published[d]}."
            for d, value in changed.items()
        ]
    return " ".join(sentences)


def _title(changes: Changes, against: str, n: int) -> str:
    if len(changes) > 1:
        return f"{sum(map(len, changes.values()))} differences from the {against}"
    ((name, changed),) = changes.items()
    other = f"the {PAPER}" if against == PAPER else against
    return f"{name} differs from {other} in {len(changed)} of {n} decisions"


def _keys(rows: Sequence[str], against: str, *, several: bool) -> str:
    silent = against == PAPER and any(d in SILENT for d in rows)
    return "   ·   ".join([EMPTY] * several + [KEY] * silent)


def _values(config: TransformerConfig) -> dict[str, object]:
    """Decision -> value, in the order of the spots."""
    values = {d: getattr(config, d) for spot in SPOTS for d in spot.decisions}
    return values | {"d_head": config.resolved_d_head}


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        digits, _, exponent = f"{value:g}".partition("e")
        if not exponent:
            return digits
        power = power_of_ten(int(exponent))
        return power if digits == "1" else f"{digits} · {power}"
    return str(value)


def _published(decision: str, value: object, against: str) -> str:
    silent = decision in SILENT and against == PAPER
    return f"({_written(value)})" if silent else _written(value)


def _ratio(here: object, paper: object) -> str:
    """How many times the other number it is, if that is a simple ratio."""
    numbers = [x for x in (here, paper) if isinstance(x, (int, float)) and not isinstance(x, bool)]
    if len(numbers) < 2 or not all(numbers):
        return ""
    return RATIOS.get(numbers[0] / numbers[1], "")


def _table(
    title: str,
    description: str,
    *,
    parts: Mapping[str, Sequence[str]],
    columns: Sequence[Column],
    keys: str,
) -> Panel:
    rows = [d for decisions in parts.values() for d in decisions]
    short = {d: words for spot in SPOTS for d, words in spot.decisions.items()}
    left = DECISION_AT + max(text_width(short[d], 12) for d in [*rows, "max_len"])
    even = max(column.width for column in columns if column.bold)
    widths = [even if column.bold else column.width for column in columns]
    content = left + sum(widths)
    gap = min(FARTHEST, (WIDEST - content) / len(columns))
    if gap < NEAREST:
        raise ValueError(
            f"expected systems for which {WIDEST:.0f} pixels are enough, got "
            f"{', '.join(''.join(column.head) for column in columns)}: compare fewer at once"
        )
    ends, x = [], left
    for width in widths:
        x += gap + width
        ends.append(x)
    right = max(x, WIDTH, text_width(title, bold=True), text_width(keys, 12))
    top = HEADS + LEADING * max(len(column.head) + bool(column.note) for column in columns)
    graphics, heights, y = [], [], top
    for name, decisions in parts.items():
        tall = max(SHORTEST, ROW * len(decisions))
        graphics.append(_box(name, y, tall, lit=bool(decisions)))
        for i, decision in enumerate(decisions):
            middle = y + tall / 2 + ROW * (i - (len(decisions) - 1) / 2)
            graphics.append(
                label((DECISION_AT, middle), short[decision], cls="aside", anchor="start")
            )
            heights.append(middle)
            if i:
                graphics.append(_rule(middle - ROW / 2, right))
        y += tall + GAP
    several = [column for column in columns if column.bold and column.note]
    shared = [bool(several) and all(c.cells[i] for c in several) for i in range(len(rows))]
    for column, end in zip(columns, ends, strict=True):
        graphics += _head(column, end, top - 13)
        graphics += _cells(column, end, heights, shared)
    if keys:
        graphics.append(label((BOX_AT, y + 8), keys, cls="aside", anchor="start"))
    middle = BOX_AT + BOX / 2
    return Panel(
        title=title,
        description=description,
        body=stream([(middle, top - 12), (middle, y - 2)], width=12) + "".join(graphics),
        height=y + (20 if keys else 4),
        width=math.ceil(round(right, 3)),
    )


def _box(name: str, top: float, height: float, *, lit: bool) -> str:
    box = element(
        "rect",
        x=BOX_AT,
        y=top,
        width=BOX,
        height=height,
        rx=8,
        fill=ink("fill"),
        stroke=ink("line" if lit else "hair"),
    )
    at = (BOX_AT + BOX / 2, top + height / 2)
    return box + label(at, name, colour=None if lit else "soft")


def _rule(y: float, right: float) -> str:
    return element("path", d=f"M{DECISION_AT:g} {y:g}H{right:.1f}", stroke=ink("hair"))


def _head(column: Column, end: float, y: float) -> list[str]:
    """A system's name and how much of it differs, the last line at y."""
    cls = "aside bold" if column.bold else "aside"
    lines = [(line, cls) for line in column.head] + [(column.note, "aside")] * bool(column.note)
    return [
        label((end, y - LEADING * i), line, cls=look, anchor="end")
        for i, (line, look) in enumerate(reversed(lines))
    ]


def _cells(
    column: Column, end: float, heights: Sequence[float], shared: Sequence[bool]
) -> list[str]:
    """Its cells, with one right end; in the accent colour where all systems differ."""
    texts = []
    for y, cell, accent in zip(heights, column.cells, shared, strict=True):
        colour = "soft" if not column.bold else "accent" if accent else "ink"
        cls = "aside bold" if column.bold else "aside"
        if cell:
            texts.append(label((end, y), cell, cls=cls, anchor="end", colour=colour))
    return texts
