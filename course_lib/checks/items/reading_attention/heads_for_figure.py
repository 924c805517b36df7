"""13.heads_for_figure: the attention weights that three figures of the paper show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from course_lib.checks.call import Call, call_plainly
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.reading_attention.alignment_links import refusal


def _drawn(figure: Callable[..., Tensor], *args: Any, refused: bool = False, **kwargs: Any) -> Any:
    return (refusal if refused else call_plainly)(figure, *args, **kwargs)


def _heads_for_figure(
    attention: Tensor,
    figure: str,
    *,
    layer: int,
    heads: Sequence[int] = (),
    query: int = 0,
    sentence: int = 0,
    length: int | None = None,
) -> Tensor:
    maps = attention[layer, sentence, :, :length, :length]
    return _slice(maps, figure, heads, query)


def _slice(maps: Tensor, figure: str, heads: Sequence[int], query: int) -> Tensor:
    """The part of a sentence's maps (H, S, S) that a figure shows."""
    if figure == "3":
        return maps[:, query]
    if figure == "4 above":
        return maps[heads[0]]
    if figure == "4 below":
        return maps[list(heads), query]
    if figure == "5":
        return maps[list(heads)]
    raise ValueError(f"figure must be one of 3, 4 above, 4 below, 5, got {figure!r}")


def _record(draw: Draw, layers: int, batch: int, heads: int, size: int) -> Tensor:
    return draw.normal(layers, batch, heads, size, size).softmax(dim=-1)


def _drawing(attention: Tensor, figure: str, about: str, **kwargs: Any) -> Call:
    return Call((attention, figure), kwargs, about=about)


def _one_word(draw: Draw) -> list[Call]:
    one, many = _record(draw, 3, 1, 4, 6), _record(draw, 3, 4, 5, 7)
    return [
        _drawing(one, "3", "Figure 3 of a single sentence", layer=2, query=4),
        _drawing(many, "3", "Figure 3 of sentence 3", layer=1, query=2, sentence=3),
        _drawing(one, "3", "Figure 3, with the default query 0", layer=0),
    ]


def _whole_heads(draw: Draw) -> list[Call]:
    maps = _record(draw, 3, 4, 5, 6)
    chosen = {"layer": 1, "sentence": 2}
    return [
        _drawing(maps, "4 above", "one head in full", heads=[3], **chosen),
        _drawing(maps, "5", "two heads in full", heads=[1, 4], **chosen),
        _drawing(maps, "5", "two neighbours in full", heads=[2, 3], **chosen),
    ]


def _some_heads(draw: Draw) -> list[Call]:
    maps = _record(draw, 4, 2, 8, 5)
    return [
        _drawing(maps, "4 below", "heads 4 and 5", layer=3, heads=[4, 5], query=3, sentence=1),
        _drawing(maps, "4 below", "heads 1 and 6", layer=2, heads=[1, 6], query=4),
        _drawing(maps, "4 below", "heads 5 and 2, in this order", layer=0, heads=[5, 2], query=1),
        _drawing(maps, "4 below", "three heads", layer=0, heads=[0, 3, 7], query=2),
        _drawing(maps, "5", "heads 7, 0 and 2, in this order", layer=1, heads=[7, 0, 2]),
    ]


def _padded(draw: Draw) -> list[Call]:
    maps = _record(draw, 2, 2, 4, 7)
    cut = {"layer": 1, "sentence": 1, "length": 5}
    return [
        _drawing(maps, "3", "5 tokens and 2 pad tokens", query=3, **cut),
        _drawing(maps, "4 above", "one head, 5 tokens and 2 pad tokens", heads=[2], **cut),
        _drawing(
            maps, "4 below", "two heads, 5 tokens and 2 pad tokens", heads=[0, 2], query=4, **cut
        ),
        _drawing(maps, "5", "two heads in full, 5 tokens and 2 pad tokens", heads=[3, 1], **cut),
    ]


item = Item(
    "13.heads_for_figure",
    reference=_heads_for_figure,
    use=_drawn,
    probes=[
        Probe("Figure 3: what one token attends to, in all heads", _one_word),
        Probe("Figure 4 (above) and Figure 5: heads in full", _whole_heads),
        Probe("Figure 4 (below) and Figure 5: any heads, in the order given", _some_heads),
        Probe("padding is cut off, as queries and as keys", _padded),
        Probe(
            "as many sentences as layers, heads and tokens",
            lambda draw: [
                _drawing(maps, figure, f"all sizes equal, figure {figure}", **chosen)
                for maps in [_record(draw, 5, 5, 5, 5)]
                for chosen in [{"layer": 1, "heads": [3, 2], "query": 0, "sentence": 4}]
                for figure in ("3", "4 above", "4 below", "5")
            ],
        ),
        Probe(
            "an unknown figure raises an error",
            lambda draw: [
                _drawing(maps, name, f"figure {name!r}", layer=0, heads=[0, 1], refused=True)
                for maps in [_record(draw, 2, 1, 3, 4)]
                for name in ("6", "4", "")
            ],
        ),
    ],
    hints=(
        "A number selects one entry and removes the axis, a colon keeps it. Write (N, B, H, Q, K) "
        "and, under each letter, a number or a colon, for each of the four pictures.",
        "Layer and sentence are fixed in all four, and padding can be cut off in the same step. "
        "Then only heads and query are left to select. A list of heads selects exactly those.",
        'maps = attention[layer, sentence, :, :length, :length]; for "4 below" maps[..., query] '
        "with the heads instead of the dots.",
    ),
)


@item.misconception(
    "You return the token's column: which tokens attend to it, not what it attends to.",
    why="A row belongs to a query. In Figure 3 the lines start at one token and end at those it "
    "attends to; their weights sum to one.",
    hint="Which axis of (N, B, H, Q, K) does your `query` fix?",
)
def column_of_the_word(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    turned = attention if figure in ("4 above", "5") else attention.transpose(-2, -1)
    return _heads_for_figure(turned, figure, **chosen)


@item.misconception(
    "Your maps are transposed: (key, query).",
    why="All plotting functions of the course take the query first. A transposed square map fits "
    "just as well, but shows something else.",
    hint="Which axis of what you return sums to one?",
)
def lying_on_its_side(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    return _heads_for_figure(attention.transpose(-2, -1), figure, **chosen)


@item.misconception(
    "You take all heads from the first to the last one given, as a slice.",
    why="The lesson's 4:6 selects two neighbouring heads. A slice can't select heads that aren't "
    "neighbours, or change their order.",
    hint="What does heads=[1, 6] ask for, and how many heads do you return?",
)
def heads_as_a_slice(
    attention: Tensor, figure: str, *, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    if heads and figure != "4 above":
        heads = range(heads[0], heads[-1] + 1)
    return _heads_for_figure(attention, figure, heads=heads, **chosen)


@item.misconception(
    "Your heads come in numerical order, not in the order asked for.",
    why="A caller who asks for heads 5 and 2 labels the first picture with 5.",
    hint="Does your code sort the heads, or use a boolean mask?",
)
def heads_sorted(
    attention: Tensor, figure: str, *, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    heads = heads if figure == "4 above" else sorted(heads)
    return _heads_for_figure(attention, figure, heads=heads, **chosen)


@item.misconception(
    "Layer and sentence are swapped.",
    why="The record stacks layers in front of the batch: (N, B, H, Q, K). With one sentence it "
    "fails for all layers but the first; with many it shows the wrong sentence without any error.",
    hint="Say the five letters of the shape, then your indices in the same order.",
)
def layer_and_sentence_swapped(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    return _heads_for_figure(attention.transpose(0, 1), figure, **chosen)


@item.misconception(
    "You always return the first sentence of the batch.",
    why="The lesson's slice has a 0 there because its record holds one sentence.",
    hint="Does your code use `sentence`?",
)
def always_the_first_sentence(
    attention: Tensor, figure: str, *, sentence: int = 0, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention, figure, **chosen)


@item.misconception(
    "Your code counts layers and heads from 1.",
    why="Captions count from 1, so the paper's layer 5 is index 4. But the task gives you indices.",
    hint="Do you subtract a 1 that was never added?",
)
def counted_from_one(
    attention: Tensor, figure: str, *, layer: int, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    heads = [head - 1 for head in heads]
    return _heads_for_figure(attention, figure, layer=layer - 1, heads=heads, **chosen)


@item.misconception(
    "Your maps still contain padding.",
    why="A picture with padding has rows and columns without a label, and a mean over its rows "
    "counts them.",
    hint="Does your code use `length`?",
)
def pads_are_drawn(
    attention: Tensor, figure: str, *, length: int | None = None, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention, figure, **chosen)


@item.misconception(
    "You cut off padding as keys, but it's still there as queries.",
    why="A padding mask hides the columns of padding. Its rows remain: a pad token attends to "
    "others like any token, but its row means nothing.",
    hint="On how many axes do the tokens of the sentence appear?",
)
def pads_still_read(
    attention: Tensor, figure: str, *, length: int | None = None, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention[..., :length], figure, **chosen)


@item.misconception(
    "For Figure 3 you return the mean of the heads.",
    why="The mean of several sharp heads looks like one undecided head. The figure shows all of "
    "them, each in its own colour.",
    hint="How many axes does your result have?",
)
def mean_of_the_heads(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    part = _heads_for_figure(attention, figure, **chosen)
    return part.mean(dim=0) if figure == "3" else part


@item.misconception(
    "For the upper part of Figure 4 your result keeps an axis for the one head.",
    why="One head in full is one map, (query, key). A list with one head keeps the axis, a number "
    "removes it.",
    hint="Index with the head itself.",
)
def one_head_keeps_its_axis(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    part = _heads_for_figure(attention, figure, **chosen)
    return part[None] if figure == "4 above" else part


@item.misconception(
    "An unknown figure is treated like the last one in your code.",
    why="A misspelt name would give a picture with the wrong title, and no error.",
    hint="What does your last `else` or `return` do with a name it doesn't know?",
)
def whatever_is_asked(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    known = figure if figure in ("3", "4 above", "4 below") else "5"
    return _heads_for_figure(attention, known, **chosen)
