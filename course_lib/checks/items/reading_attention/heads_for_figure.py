"""14.heads_for_figure: the attention weights that three figures of the paper show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe, call_plainly
from course_lib.checks.items.reading_attention.alignment_links import refusal


def _drawn(figure: Callable[..., Tensor], *args: Any, refused: bool = False, **kwargs: Any) -> Any:
    return (refusal if refused else call_plainly)(figure, *args, **kwargs)


def _heads_for_figure(
    attention: Float[Tensor, "layers batch heads query key"],
    figure: str,
    *,
    layer: int,
    heads: Sequence[int] = (),
    query: int = 0,
    sentence: int = 0,
    length: int | None = None,
) -> Tensor:
    maps = attention[layer, sentence, :, :length, :length]
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


def _one_or_the_same(draw: Draw) -> list[Call]:
    maps = _record(draw, 3, 2, 6, 5)
    chosen = {"layer": 2, "query": 3, "sentence": 1}
    return [
        _drawing(maps, figure, f"figure {figure}, {about}", heads=heads, **chosen)
        for about, heads in (
            ("a list of one head", [4]),
            ("a list with head 1 twice", [1, 5, 1]),
        )
        for figure in ("4 below", "5")
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
    "14.heads_for_figure",
    reference=_heads_for_figure,
    use=_drawn,
    probes=[
        Probe("Figure 3: what one token attends to, in all heads", _one_word),
        Probe("Figure 4 (above) and Figure 5: heads in full", _whole_heads),
        Probe("Figure 4 (below) and Figure 5: any heads, in the order given", _some_heads),
        Probe(
            "a list of one head keeps its axis, and a head asked for twice comes twice",
            _one_or_the_same,
        ),
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
            "an unknown figure raises a ValueError",
            lambda draw: [
                _drawing(maps, name, f"figure {name!r}", layer=0, heads=[0, 1], refused=True)
                for maps in [_record(draw, 2, 1, 3, 4)]
                for name in ("6", "4", "", "3 above", "5 below", "5 ", "4 ABOVE")
            ],
        ),
    ],
    hints=(
        "A number selects one entry and removes the axis, a colon keeps it. Write (N, B, H, Q, K) "
        "and, under each letter, a number or a colon, for each of the four pictures.",
        "Layer and sentence are fixed in all four, and padding can be cut off in the same step. "
        "Then only heads and query are left to select. A list of heads selects exactly those.",
        'Start with maps = attention[layer, sentence, :, :length, :length]. For "4 below", take '
        "maps[..., query], with the heads in place of the dots.",
    ),
)


@item.switchable
def slice_with(on: frozenset[str]) -> Callable[..., Tensor | None]:
    """``heads_for_figure`` with these misconceptions."""

    def answer(
        attention: Tensor,
        figure: str,
        *,
        layer: int,
        heads: Sequence[int] = (),
        query: int = 0,
        sentence: int = 0,
        length: int | None = None,
    ) -> Tensor | None:
        one_less = "counted_from_one" in on
        if one_less or "layers_from_one" in on:
            layer -= 1
        if one_less or "heads_from_one" in on:
            heads = [head - 1 for head in heads]
        if "always_the_first_sentence" in on:
            sentence = 0
        if "always_the_first_query" in on:
            query = 0
        swapped = "layer_and_sentence_swapped" in on
        maps = attention[sentence, layer] if swapped else attention[layer, sentence]
        if not on & {"pads_are_drawn", "pads_still_read"}:
            maps = maps[:, :length]
        if not on & {"pads_are_drawn", "pads_as_keys"}:
            maps = maps[:, :, :length]
        if "lying_on_its_side" in on:
            maps = maps.transpose(1, 2)
        rows = maps.transpose(1, 2) if "column_of_the_word" in on else maps
        figure = known(figure)
        if "figures_4_exchanged" in on:
            figure = {"4 above": "4 below", "4 below": "4 above"}.get(figure, figure)
        if figure == "3":
            return rows[:, query].mean(dim=0) if "mean_of_the_heads" in on else rows[:, query]
        if figure == "4 above":
            first = min(heads) if "heads_sorted_everywhere" in on else heads[0]
            if "all_heads_keep_their_axis" in on:
                return maps[list(heads)]
            return maps[[first]] if "one_head_keeps_its_axis" in on else maps[first]
        if figure == "4 below":
            return without_axis(rows[chosen(heads, rows, figure), query], figure)
        if figure == "5":
            return without_axis(maps[chosen(heads, maps, figure)], figure)
        if "no_error" in on:
            return None
        raise ValueError(figure)

    def known(figure: str) -> str:
        if "whatever_is_asked" in on and figure not in ("3", "4 above", "4 below"):
            return "5"
        if figure[:1] == "4" and on & {"part_of_the_name", "part_of_the_name_4"}:
            return "4 above" if figure == "4 above" else "4 below"
        if on & {"part_of_the_name", "part_of_the_name_3_and_5"} and figure[:1] in ("3", "5"):
            return figure[:1]
        return "3" if "part_of_the_name_3" in on and figure.startswith("3") else figure

    def chosen(heads: Sequence[int], maps: Tensor, figure: str) -> list[int]:
        if "all_heads" in on or ("all_heads_in_5" in on and figure == "5"):
            return list(range(len(maps)))
        if "only_two_heads" in on:
            return list(heads[:2])
        if "exactly_two_heads" in on:
            return [heads[0], heads[1]]
        if "heads_as_a_slice" in on:
            heads = range(heads[0], heads[-1] + 1)
        if "heads_from_least_to_greatest" in on:
            heads = range(min(heads), max(heads) + 1)
        if on & {"heads_sorted", "heads_sorted_everywhere"}:
            heads = sorted(heads)
        if "heads_by_a_boolean_mask" in on:
            return sorted(set(heads))
        return list(dict.fromkeys(heads) if "a_head_only_once" in on else heads)

    def without_axis(part: Tensor, figure: str) -> Tensor:
        squeezed = {"one_head_loses_its_axis", f"one_head_loses_its_axis_in_{figure}"}
        return part.squeeze(0) if on & squeezed else part

    return answer


item.switch(
    "column_of_the_word",
    "You return the token's column: which tokens attend to it, not what it attends to.",
    why="A row belongs to a query. In Figure 3 the lines start at one token and end at those it "
    "attends to; their weights sum to one.",
    hint="Which axis of (N, B, H, Q, K) does your `query` fix?",
)
item.switch(
    "lying_on_its_side",
    "Your maps are transposed: (key, query).",
    why="All plotting functions of the course take the query first. A transposed square map fits "
    "just as well, but shows something else.",
    hint="Which axis of what you return sums to one?",
)
item.switch(
    "always_the_first_query",
    "You always return the row of token 0, whichever token is asked for.",
    why="The lines of a picture would start at a different token from the one in its title.",
    hint="Does your code use `query`?",
)
item.switch(
    "figures_4_exchanged",
    "The two pictures of Figure 4 are swapped: you return one where the other is asked for.",
    why="The upper picture shows one head in full, the lower one shows one token's row in several "
    "heads.",
    hint="Which of the two has an axis of heads?",
)
item.switch(
    "heads_as_a_slice",
    "You take a whole range of heads, and with it those between the ones given.",
    why="The lesson's 4:6 selects two neighbouring heads. A slice or a range can't select just "
    "any heads, in any order.",
    hint="What does heads=[1, 6] ask for, and how many heads do you return?",
    spellings=["heads_from_least_to_greatest"],
)
item.switch(
    "heads_sorted",
    "Your heads come in numerical order, not in the order asked for.",
    why="A caller who asks for heads 5 and 2 labels the first picture with 5.",
    hint="Does your code sort the heads, use a set or a boolean mask, or go through all heads and "
    "keep some?",
    spellings=["heads_sorted_everywhere", "heads_by_a_boolean_mask"],
)
item.switch(
    "a_head_only_once",
    "A head that is asked for twice comes only once.",
    why="The caller counts on as many maps as there are heads in the list, and labels them in that "
    "order.",
    hint="What happens to heads=[1, 5, 1] in your code? A set or a dictionary keeps one of each.",
)
item.switch(
    "only_two_heads",
    "You return the first two heads of the list, however many are asked for.",
    why="The paper's pictures happen to show two heads. A list may have one head, or eight.",
    hint="Where does your code assume that there are two heads?",
    spellings=["exactly_two_heads"],
)
item.switch(
    "all_heads",
    "You return all heads of the layer where only those in `heads` are asked for.",
    why="Only Figure 3 shows every head. The others show those that the caller has chosen.",
    hint="Look at the last row of the table: how long is the first axis of the result?",
    spellings=["all_heads_in_5"],
)
item.switch(
    "one_head_loses_its_axis",
    "With a list of one head, your result has lost the axis of the heads.",
    why="The table promises (number of heads, ...), and 1 is a number of heads, too. Code that "
    "loops over the result would loop over tokens.",
    hint="Do you squeeze, or treat a list of one head differently from longer lists?",
    spellings=["one_head_loses_its_axis_in_5", "one_head_loses_its_axis_in_4 below"],
)
item.switch(
    "layer_and_sentence_swapped",
    "Layer and sentence are swapped.",
    why="The record stacks layers in front of the batch: (N, B, H, Q, K). With one sentence it "
    "fails for all layers but the first; with many it can show the wrong map without any error.",
    hint="Say the five letters of the shape, then your indices in the same order.",
)
item.switch(
    "always_the_first_sentence",
    "You always return the first sentence of the batch.",
    why="The lesson's slice has a 0 there because its record holds one sentence.",
    hint="Does your code use `sentence`?",
)
item.switch(
    "counted_from_one",
    "You count layers or heads from 1.",
    why="The paper's captions seem to count from 1, so that its layer 5 is index 4. But the task "
    "gives you indices.",
    hint="Do you subtract a 1 that was never added?",
    spellings=["layers_from_one", "heads_from_one"],
)
item.switch(
    "pads_are_drawn",
    "Your maps still contain padding.",
    why="A picture with padding has rows and columns without a label, and a mean over its rows "
    "counts them.",
    hint="Does your code use `length`?",
)
item.switch(
    "pads_still_read",
    "You cut off padding as keys, but it's still there as queries.",
    why="A padding mask hides the columns of padding. Its rows remain: a pad token attends to "
    "others like any token, but its row means nothing.",
    hint="On how many axes do the tokens of the sentence appear?",
)
item.switch(
    "pads_as_keys",
    "You cut off padding as queries, but it's still there as keys.",
    why="The columns of padding have no label. Their weights are zero only if the model had a "
    "padding mask.",
    hint="On how many axes do the tokens of the sentence appear?",
)
item.switch(
    "mean_of_the_heads",
    "For Figure 3 you return the mean of the heads.",
    why="The mean of several sharp heads looks like one undecided head. The figure shows all of "
    "them, each in its own colour.",
    hint="How many axes does your result have?",
)
item.switch(
    "one_head_keeps_its_axis",
    "For the upper part of Figure 4 your result keeps the axis of the heads.",
    why="One head in full is one map, (query, key). A list of heads keeps the axis, even a list of "
    "one; a number removes it.",
    hint="Index with the head itself.",
    spellings=["all_heads_keep_their_axis"],
)
item.switch(
    "whatever_is_asked",
    "An unknown figure gives a tensor, and no error.",
    why="A misspelt name would give a picture with the wrong title, and no error.",
    hint="Which part of your code deals with the name '6', and what does it do?",
)
item.switch(
    "part_of_the_name",
    "You look at part of the figure's name only: names that aren't in the table are accepted.",
    why="A name with a typo, such as '3 above', would give a picture with the wrong title, and no "
    "error.",
    hint="Which names that aren't in the table does your code accept? Look for startswith, `in`, "
    "split, or a single character of the name.",
    spellings=["part_of_the_name_3_and_5", "part_of_the_name_3", "part_of_the_name_4"],
)
item.switch(
    "no_error",
    "An unknown figure gives None, and no error.",
    why="The caller would find out only later, in a plotting function, without learning why.",
    hint="What does a function return if none of its branches does?",
)
