"""Where published systems differ from the paper: one strip a system, lit where it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from course_lib.model import TransformerConfig
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import element, group, label, stream, text_width

BOX, BOX_AT = 118.0, 1.0  # width and left edge of a spot's box
DECISION_AT, HERE_AT, PAPER_AT = 130.0, 262.0, WIDTH - 1.0  # where columns begin or end
LINE, GAP, FIRST = 17.0, 12.0, 54.0
SHORTEST = 26.0  # the height of a box
VOCABULARY = ("source_vocab", "target_vocab")  # sizes of the data, not decisions
# The paper does not say, or its equations have no biases: what its preset says is in brackets.
SILENT = ("pad_id", "max_len", "norm_eps", "attention", "attention_bias")
KEY = "( ) not in the paper: this course's choice"


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


def draw_systems(
    systems: Mapping[str, TransformerConfig], *, paper: TransformerConfig, caption: str = ""
) -> Drawing:
    """Draw each system as a strip of the model's spots, lit where it differs from the paper.

    The strips have one form, so that the same spot is at the same height in all of them. A
    head's width is compared as it results. The sizes of the vocabularies are left out.

    Args:
        systems: name -> configuration, such as ``preset(name)``.
        paper: the configuration that they are compared with.
        caption: one sentence below.

    Raises:
        ValueError: no system, or names or values for which there is no room.
    """
    if not systems:
        raise ValueError("expected at least one system to compare with the paper, got none")
    theirs = _values(paper)
    changes = {
        name: {d: value for d, value in _values(config).items() if value != theirs[d]}
        for name, config in systems.items()
    }
    lines = [
        max(sum(d in changed for d in spot.decisions) for changed in changes.values())
        for spot in SPOTS
    ]
    tops, y = [], FIRST
    for n in lines:
        tops.append(y)
        y += max(SHORTEST, LINE * n + 4) + GAP
    return Drawing(
        *(
            _strip(name, changed, theirs, tops=tops, lines=lines, height=y)
            for name, changed in changes.items()
        ),
        caption=caption,
        wide=True,
    )


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
        return "0" if value == 0 else f"{value:g}".replace("e-0", "e-")
    return str(value)


def _published(decision: str, paper: Mapping[str, object]) -> str:
    written = _written(paper[decision])
    return f"({written})" if decision in SILENT else written


def _strip(
    name: str,
    changed: Mapping[str, object],
    paper: Mapping[str, object],
    *,
    tops: Sequence[float],
    lines: Sequence[int],
    height: float,
) -> Panel:
    heights = [max(SHORTEST, LINE * n + 4) for n in lines]
    middle = BOX_AT + BOX / 2
    band = stream([(middle, tops[0] - 12), (middle, tops[-1] + heights[-1] + 8)], width=12)
    graphics, told = [], []
    for spot, top, tall in zip(SPOTS, tops, heights, strict=True):
        here = [d for d in spot.decisions if d in changed]
        graphics.append(_box(spot.name, top, tall, lit=bool(here)))
        first = top + tall / 2 - LINE * (len(here) - 1) / 2
        for i, decision in enumerate(here):
            words = spot.decisions[decision]
            value, published = _written(changed[decision]), _published(decision, paper)
            graphics.append(_line(first + LINE * i, words, value, published))
            told.append(f"{spot.name}, {words}: {value}, in the paper {published}")
    if any(decision in changed for decision in SILENT):
        graphics.append(label((BOX_AT, height + 6), KEY, cls="aside", anchor="start"))
    n = len(paper)
    title = f"{name}: {len(changed)} of {n}"
    if text_width(title, bold=True) > HERE_AT - 40:
        raise ValueError(f"expected names of at most about 25 letters, got {name!r}")
    heads = label((HERE_AT, 34), "here", cls="aside bold", anchor="end")
    heads += label((PAPER_AT, 34), "paper", cls="aside", anchor="end")
    return Panel(
        title=title,
        description=(
            f"{name} differs from the paper in {len(changed)} of {n} decisions. "
            + "".join(f"{each}. " for each in told)
        ).strip(),
        body=band + (heads if changed else "") + group(*graphics),
        height=height + 16,
    )


def _box(name: str, top: float, height: float, *, lit: bool) -> str:
    box = element(
        "rect",
        x=BOX_AT,
        y=top,
        width=BOX,
        height=height,
        rx=8,
        fill=ink("page" if lit else "fill"),
        stroke=ink("accent" if lit else "hair"),
        stroke_width=2.4 if lit else 1,
    )
    at = (BOX_AT + BOX / 2, top + height / 2)
    return box + label(at, name, cls="bold" if lit else None, colour=None if lit else "soft")


def _line(y: float, decision: str, here: str, paper: str) -> str:
    """A decision with the value here and in the paper."""
    ends = (DECISION_AT + text_width(decision, 12), HERE_AT + 8)
    starts = (HERE_AT - text_width(here, 12, bold=True), PAPER_AT - text_width(paper, 12))
    if starts[0] < ends[0] + 4 or starts[1] < ends[1]:
        raise ValueError(f"expected values of a few letters, got {here!r} and {paper!r}")
    return (
        label((DECISION_AT, y), decision, cls="aside", anchor="start")
        + label((HERE_AT, y), here, cls="aside bold", anchor="end", colour="accent")
        + label((PAPER_AT, y), paper, cls="aside", anchor="end")
    )
