"""13.heads_for_figure: The slices of three figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from course_lib.checks.call import Call, call_plainly
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.reading_attention.shared import refusal


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
        _drawing(one, "3", "Figure 3, its query not named: 0", layer=0),
    ]


def _whole_heads(draw: Draw) -> list[Call]:
    maps = _record(draw, 3, 4, 5, 6)
    places = {"layer": 1, "sentence": 2}
    return [
        _drawing(maps, "4 above", "one head in full", heads=[3], **places),
        _drawing(maps, "5", "two heads in full", heads=[1, 4], **places),
        _drawing(maps, "5", "two neighbours in full", heads=[2, 3], **places),
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
        _drawing(maps, "3", "a sentence of 5 tokens and 2 pads", query=3, **cut),
        _drawing(maps, "4 above", "one head, 5 tokens and 2 pads", heads=[2], **cut),
        _drawing(maps, "4 below", "two heads, 5 tokens and 2 pads", heads=[0, 2], query=4, **cut),
        _drawing(maps, "5", "two heads in full, 5 tokens and 2 pads", heads=[3, 1], **cut),
    ]


item = Item(
    "13.heads_for_figure",
    reference=_heads_for_figure,
    use=_drawn,
    probes=[
        Probe("Figure 3: what one word reads, in all heads", _one_word),
        Probe("Figures 4, above, and 5: heads in full", _whole_heads),
        Probe("Figures 4, below, and 5: any heads, in the order given", _some_heads),
        Probe("pads are cut off, as queries and as keys", _padded),
        Probe(
            "as many sentences as layers, heads and tokens",
            lambda draw: [
                _drawing(maps, figure, f"all sizes alike, figure {figure}", **places)
                for maps in [_record(draw, 5, 5, 5, 5)]
                for places in [{"layer": 1, "heads": [3, 2], "query": 0, "sentence": 4}]
                for figure in ("3", "4 above", "4 below", "5")
            ],
        ),
        Probe(
            "an unknown figure is refused",
            lambda draw: [
                _drawing(maps, name, f"figure {name!r}", layer=0, heads=[0, 1], refused=True)
                for maps in [_record(draw, 2, 1, 3, 4)]
                for name in ("6", "4", "")
            ],
        ),
    ],
    hints=(
        "A number fixes an axis and takes it away, a colon keeps it. Write (N, B, H, Q, K) and, "
        "under each letter, a number or a colon, for each of the four pictures.",
        "Layer and sentence are fixed in all four, and the pads can be cut off in the same step. "
        "Then only heads and query are left to choose. A list of heads picks just these.",
        'maps = attention[layer, sentence, :, :length, :length]; for "4 below" maps[..., query] '
        "with the heads in place of the dots.",
    ),
)


@item.misconception(
    "You draw the column of the word: who reads it, and not what it reads.",
    why="A row is a query, the reader. In Figure 3 the lines start at one word and end at those "
    "that it reads; their weights sum to one.",
    hint="Which axis of (N, B, H, Q, K) does your `query` fix?",
)
def column_of_the_word(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    turned = attention if figure in ("4 above", "5") else attention.transpose(-2, -1)
    return _heads_for_figure(turned, figure, **chosen)


@item.misconception(
    "Your maps lie on their side: (key, query).",
    why="All functions of the course that draw take the query first. A square map turned round "
    "fits just as well, and tells a wrong story.",
    hint="Which axis of what you return sums to one?",
)
def lying_on_its_side(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    return _heads_for_figure(attention.transpose(-2, -1), figure, **chosen)


@item.misconception(
    "You take all heads from the first to the last named, as a slice.",
    why="4:6 in the paper is two neighbours. A slice cannot pick heads that are no neighbours, nor "
    "turn their order round.",
    hint="What does heads=[1, 6] ask for, and how many heads do you return?",
)
def heads_as_a_slice(
    attention: Tensor, figure: str, *, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    if heads and figure != "4 above":
        heads = range(heads[0], heads[-1] + 1)
    return _heads_for_figure(attention, figure, heads=heads, **chosen)


@item.misconception(
    "Your heads come in the order of their numbers, not in the order asked for.",
    why="Whoever asks for heads 5 and 2 labels the first picture with 5.",
    hint="Does your code sort, or use a mask, where it should pick?",
)
def heads_sorted(
    attention: Tensor, figure: str, *, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    heads = heads if figure == "4 above" else sorted(heads)
    return _heads_for_figure(attention, figure, heads=heads, **chosen)


@item.misconception(
    "Layer and sentence have changed places.",
    why="The record stacks layers in front of the batch: (N, B, H, Q, K). With one sentence it "
    "fails for all layers but the first; with many it shows another sentence in silence.",
    hint="Say the five letters of the shape, then your indices in the same order.",
)
def layer_and_sentence_swapped(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    return _heads_for_figure(attention.transpose(0, 1), figure, **chosen)


@item.misconception(
    "You always draw the first sentence of the batch.",
    why="The slices of the paper have a 0 there because its record holds one sentence.",
    hint="Does your code use `sentence`?",
)
def always_the_first_sentence(
    attention: Tensor, figure: str, *, sentence: int = 0, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention, figure, **chosen)


@item.misconception(
    "Layers and heads count from 1 in your code.",
    why="Captions count from 1, and the paper's layer 5 is index 4. But the task gives indices.",
    hint="Is a 1 taken away somewhere that was never added?",
)
def counted_from_one(
    attention: Tensor, figure: str, *, layer: int, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    heads = [head - 1 for head in heads]
    return _heads_for_figure(attention, figure, layer=layer - 1, heads=heads, **chosen)


@item.misconception(
    "Pads are still in your maps.",
    why="They are no words: a picture with them has rows and columns without a label, and a mean "
    "over its rows counts them.",
    hint="Does your code use `length`?",
)
def pads_are_drawn(
    attention: Tensor, figure: str, *, length: int | None = None, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention, figure, **chosen)


@item.misconception(
    "You cut the pads off as keys, but they are still there as queries.",
    why="A padding mask hides a pad's column. Its row stays: a pad reads like any word, and that "
    "row means nothing.",
    hint="On how many axes do the tokens of the sentence stand?",
)
def pads_still_read(
    attention: Tensor, figure: str, *, length: int | None = None, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention[..., :length], figure, **chosen)


@item.misconception(
    "For Figure 3 you give the mean of the heads.",
    why="A mean of sharp heads looks like one undecided head. The figure shows all of them, each "
    "in its colour.",
    hint="How many axes does what you return have?",
)
def mean_of_the_heads(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    part = _heads_for_figure(attention, figure, **chosen)
    return part.mean(dim=0) if figure == "3" else part


@item.misconception(
    "The upper part of Figure 4 keeps an axis of one head in your code.",
    why="One head in full is one map, (query, key). A list of one head keeps the axis, a number "
    "takes it away.",
    hint="Index with the head itself.",
)
def one_head_keeps_its_axis(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    part = _heads_for_figure(attention, figure, **chosen)
    return part[None] if figure == "4 above" else part


@item.misconception(
    "An unknown figure is drawn as the last one that you know.",
    why="A misspelt name would give a picture with a wrong title, and no error.",
    hint="What does your last `else` or `return` do with a name that it does not know?",
)
def whatever_is_asked(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    known = figure if figure in ("3", "4 above", "4 below") else "5"
    return _heads_for_figure(attention, known, **chosen)
