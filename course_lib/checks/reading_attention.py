"""Items of lesson 13: maps, links and what they are measured with.

N layers, B batch, H heads, T target length, S source length, Q queries, K keys. A link is (source
index, target index).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.call import Call, call_plainly
from course_lib.checks.compare import short
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.mean_entropy import bug as bug

Link = tuple[int, ...]
Links = set[Link]


def _refusal(use: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, str]:
    """For calls that deserve a ValueError: its words are the learner's own affair."""
    try:
        value = use(*args, **kwargs)
    except ValueError:
        return {"it raises": "a ValueError"}
    return {"it raises": f"no error, and gives {short(value)}"}


# --- 13.alignment_error_rate ---------------------------------------------------------------------


def _of_sets(
    rate: Callable[[Links, Links, Links], float],
    predicted: Sequence[Sequence[int]],
    sure: Sequence[Sequence[int]],
    possible: Sequence[Sequence[int]],
    *,
    refused: bool = False,
) -> dict[str, Any]:
    """Hand the links over as sets of tuples, and see whether the sets are still the same."""
    given = [{tuple(link) for link in links} for links in (predicted, sure, possible)]
    before = [set(links) for links in given]
    if refused:
        return _refusal(rate, *given)
    value = rate(*given)
    return {"rate": value, "the sets it was given": "as before" if given == before else "changed"}


def _alignment_error_rate(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError("an alignment error rate needs a link, found or sure, got none")
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(sure))


def _three_sets(
    draw: Draw, hits: int, maybe_hits: int, wrong: int, *, missed: int, maybe_missed: int
) -> list[list[list[int]]]:
    """Links found, sure and possible, with so many in each part where they overlap."""
    order = torch.randperm(48, generator=draw.generator).tolist()
    parts = (hits, missed, maybe_hits, maybe_missed, wrong)
    cells = iter([[cell % 8, cell // 8] for cell in order])
    hit, missed_ones, maybe_hit, maybe_missed_ones, wrong_ones = (
        [next(cells) for _ in range(size)] for size in parts
    )
    sure = hit + missed_ones
    return [wrong_ones + maybe_hit + hit, sure, sure + maybe_hit + maybe_missed_ones]


def _sentences(draw: Draw) -> list[Call]:
    calls = []
    for hits, maybe, wrong in ((3, 2, 1), (5, 1, 3), (2, 3, 2)):
        missed, unseen = draw.integer(1, 4), draw.integer(1, 3)
        links = _three_sets(draw, hits, maybe, wrong, missed=missed, maybe_missed=unseen)
        calls.append(Call(tuple(links), about=f"{hits} sure links found of {hits + missed}"))
    return calls


def _all_sure(draw: Draw) -> list[Call]:
    found, sure, _ = _three_sets(draw, 4, 0, 2, missed=3, maybe_missed=0)
    return [
        Call((found, sure, sure), about="all gold links are sure"),
        Call((sure, sure, sure), about="all found, and nothing else"),
    ]


def _extremes(draw: Draw) -> list[Call]:
    found, sure, possible = _three_sets(draw, 3, 2, 0, missed=0, maybe_missed=3)
    wrong, hard, _ = _three_sets(draw, 0, 0, 4, missed=2, maybe_missed=0)
    return [
        Call((found, sure, possible), about="all sure links found, and some possible ones"),
        Call((wrong, hard, hard), about="nothing found is possible"),
        Call(([], sure, possible), about="nothing found"),
        Call((found, [], possible), about="no gold link is sure"),
    ]


def _many_sentences(draw: Draw) -> list[Call]:
    found, sure, possible = _three_sets(draw, 2, 1, 1, missed=3, maybe_missed=2)
    # What was found in the one is sure in the other, so that the number of the sentence matters.
    both = [[found, sure, possible], [sure, found, possible + found]]
    joined = [
        [[b, *link] for b, links in enumerate(both) for link in links[part]] for part in range(3)
    ]
    return [Call(tuple(joined), about="links (sentence, source, target) of two sentences")]


alignment_error_rate = Item(
    "13.alignment_error_rate",
    reference=_alignment_error_rate,
    use=_of_sets,
    probes=[
        Probe("sure links must be found, and possible ones do no harm", _sentences),
        Probe("where all links are sure, both sides count alike", _all_sure),
        Probe("0 is perfect, and 1 is when nothing fits", _extremes),
        Probe("links of many sentences are counted together", _many_sentences),
        Probe(
            "without any link there is no rate",
            lambda draw: [
                Call(([], [], []), {"refused": True}, about="nothing found and nothing to find"),
                Call(([], [], [[0, 1]]), {"refused": True}, about="only a possible link"),
            ],
        ),
    ],
    hints=(
        "Take ich–I, trinke–drink, trinke–tea of the lesson and count by hand: what is found, what "
        "is sure, what is both?",
        "Four counts are needed: A ∩ S, A ∩ P, A and S. Python's sets have & for what is in both. "
        "See to the case in which the lower part is 0 first.",
        "1 - (len(... & sure) + len(... & possible)) / (len(...) + len(...))",
    ),
)


@alignment_error_rate.mistake(
    "You count how much is right, and not how much is wrong: a perfect head gets 1.",
    why="It is an error rate: 0 is perfect. Whoever takes the lowest would take the worst head.",
    hint="What has to be done with a share that is right to make it a share that is wrong?",
)
def share_that_is_right(predicted: Links, sure: Links, possible: Links) -> float:
    return 1 - _alignment_error_rate(predicted, sure, possible)


@alignment_error_rate.mistake(
    "Only sure links count for you: a possible link that is found costs as much as a wrong one.",
    why="Possible links are those about which the people who drew them did not agree. A head may "
    "find them or not; neither is a mistake.",
    hint="Where does your code use its third argument?",
)
def possible_links_ignored(predicted: Links, sure: Links, possible: Links) -> float:
    return _alignment_error_rate(predicted, sure, sure)


@alignment_error_rate.mistake(
    "You treat possible links as if they were sure: a head pays for each that it does not find.",
    why="People disagree about them, so nobody has to find them. Only sure links are a duty.",
    hint="Which gold links does the formula count below the line?",
)
def possible_links_are_a_duty(predicted: Links, sure: Links, possible: Links) -> float:
    return _alignment_error_rate(predicted, possible, possible)


@alignment_error_rate.mistake(
    "Above the line you count as you should, but below it stand the possible links.",
    why="Then finding all sure links and nothing else is no longer perfect.",
    hint="Below the line: what was found, and what had to be found.",
)
def possible_below_the_line(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(possible))


@alignment_error_rate.mistake(
    "You measure only what was found: a head that finds one right link and stops gets 0.",
    why="That is one minus precision. Links that are missed have to cost something, too.",
    hint="Which of the two sides, what was found and what was to be found, is not in your code?",
)
def missed_links_are_free(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted:
        if not sure:
            raise ValueError
        return 1.0
    return 1 - len(predicted & possible) / len(predicted)


@alignment_error_rate.mistake(
    "You measure only what had to be found: a head that links all with all gets 0.",
    why="That is one minus recall. Links that are wrong have to cost something, too.",
    hint="Which of the two sides, what was found and what was to be found, is not in your code?",
)
def wrong_links_are_free(predicted: Links, sure: Links, possible: Links) -> float:
    if not sure:
        if not predicted:
            raise ValueError
        return 1.0
    return 1 - len(predicted & sure) / len(sure)


@alignment_error_rate.mistake(
    "You divide what is in both sets by what is in either.",
    why="That is another measure, Jaccard's. Where all links are sure it orders heads alike, but "
    "its numbers cannot be compared with anybody's error rates.",
    hint="The formula adds two sizes below the line. Is that the size of a union?",
)
def divided_by_the_union(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    return 1 - len(predicted & sure) / len(predicted | sure)


@alignment_error_rate.mistake(
    "You take the mean of two shares: of what was found and of what had to be found.",
    why="The rate divides once, so a set with more links weighs more. The mean of two shares lets "
    "a head with a single link have half a perfect score.",
    hint="Add above the line, add below the line, then divide.",
)
def mean_of_two_shares(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        raise ValueError
    precision = len(predicted & possible) / len(predicted) if predicted else 0.0
    recall = len(predicted & sure) / len(sure) if sure else 0.0
    return 1 - (precision + recall) / 2


@alignment_error_rate.mistake(
    "With no link at all you divide 0 by 0.",
    why="The task says what is due there: a ValueError. A ZeroDivisionError tells whoever reads it "
    "nothing about alignments.",
    hint="Look at what stands below the line before you divide.",
)
def divides_nothing_by_nothing(predicted: Links, sure: Links, possible: Links) -> float:
    right = len(predicted & sure) + len(predicted & possible)
    return 1 - right / (len(predicted) + len(sure))


@alignment_error_rate.mistake(
    "With no link at all your rate is 0, perfect.",
    why="Nothing was measured. An empty file of links would win every comparison.",
    hint="What does the task say about this case?",
)
def nothing_is_perfect(predicted: Links, sure: Links, possible: Links) -> float:
    if not predicted and not sure:
        return 0.0
    return _alignment_error_rate(predicted, sure, possible)


@alignment_error_rate.mistake(
    "Your rate is right, but the set of links found is another afterwards.",
    why="&= changes the set itself. Whoever measures the same links once more gets another rate.",
    hint="Which operators make a new set, and which change the one at hand?",
)
def eats_its_input(predicted: Links, sure: Links, possible: Links) -> float:
    rate = _alignment_error_rate(predicted, sure, possible)
    predicted &= sure
    return rate


# --- 13.align ------------------------------------------------------------------------------------


def _links_of(align: Callable[[Tensor], Links], weights: Tensor) -> dict[str, Any]:
    """What came out, as data. Links that are equal have to be equal as tuples."""
    links = align(weights)
    kinds = sorted({type(x).__name__ for link in links for x in link})
    whole = all(name.startswith("int") for name in kinds)  # numpy's are as good as Python's
    return {
        "it is": "a set" if isinstance(links, (set, frozenset)) else f"a {type(links).__name__}",
        "its indices are": "whole numbers" if whole else ", ".join(kinds),
        "links": sorted([int(s), int(t)] for s, t in links),
    }


def _align(weights: Tensor) -> Links:
    return {(int(s), t) for t, s in enumerate(weights[:-1].argmax(dim=-1))}


def _map(draw: Draw, target: int, source: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Cross-attention of a target of this many words, and <eos>; no two weights are alike."""
    return draw.normal(target + 1, source, spread=2.0, dtype=dtype).softmax(dim=-1)


def _staircase(draw: Draw) -> list[Call]:
    """Word t reads source word t + 1, sharply, as a good head does where a source begins longer."""
    size = draw.integer(4, 6)
    steps = torch.eye(size, size + 2).roll(1, dims=1) * 9 + draw.normal(size, size + 2)
    return [Call((steps.softmax(dim=-1),), about="each word reads the source word after its own")]


align = Item(
    "13.align",
    reference=_align,
    use=_links_of,
    probes=[
        Probe("word t is said by row t", _staircase),
        Probe(
            "each word gets one link, and <eos> gets none",
            lambda draw: [
                Call((_map(draw, 4, 7),), about="5 rows, 7 source words"),
                Call((_map(draw, 8, 3),), about="9 rows, 3 source words"),
                Call((_map(draw, 5, 6),), about="as many rows as source words"),
            ],
        ),
        Probe(
            "any precision and any layout in memory",
            lambda draw: [
                Call((_map(draw, 3, 6, torch.float64),), about="float64"),
                Call((draw.strided(6, 4).softmax(dim=-1),), about="not contiguous"),
            ],
        ),
        Probe(
            "short sentences are sentences, too",
            lambda draw: [
                Call((_map(draw, 1, 5),), about="a target of one word"),
                Call((_map(draw, 3, 1),), about="a source of one word"),
                Call((_map(draw, 0, 4),), about="nothing said but <eos>"),
            ],
        ),
    ],
    hints=(
        "Write down a sentence of two words: what does each row read, and what does it say?",
        "The decoder reads <sos> in row 0 and says word 0 there. So rows and words have the same "
        "number, and one row at the end is left over.",
        "{(int(weights[t].argmax()), ...) for t in range(len(weights) - ...)}",
    ),
)


@align.mistake(
    "Your rows are off by one: word t is looked up in the row that has already read it, t + 1.",
    why="When the decoder has read a word, it is on its way to the next. On the lesson's 200 "
    "sentences this raises the error rate from 0.11 to 0.92.",
    hint="What does the decoder say in row 0, where it has read nothing but <sos>?",
)
def off_by_one(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights[1:])}


@align.mistake(
    "You link the last row, too, where <eos> is said.",
    why="<eos> has no source word, so this link can only be wrong, once in every sentence.",
    hint="How many rows are there, and how many words?",
)
def the_end_gets_a_link(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights)}


@align.mistake(
    "You leave out the first row and keep the last: word 0 has no link, and <eos> has one.",
    why="Row 0 has read <sos>, but what it says is the first word. It is the last row that says no "
    "word.",
    hint="Which of its two words does a row belong to here, the one it reads or the one it says?",
)
def first_row_left_out(weights: Tensor) -> Links:
    return {(int(row.argmax()), t) for t, row in enumerate(weights) if t > 0}


@align.mistake(
    "Your target indices count <sos> as a word: they begin at 1.",
    why="Gold links count the words of the sentence, and <sos> is none. Row t says word t.",
    hint="What is the smallest target index in your links?",
)
def sos_counted(weights: Tensor) -> Links:
    return {(int(row.argmax()), t + 1) for t, row in enumerate(weights[:-1])}


@align.mistake(
    "Your links are turned round: (target, source).",
    why="Gold links are (source, target). Two sets that order their pairs differently share little "
    "but the diagonal.",
    hint="Which comes first in a link?",
)
def turned_round(weights: Tensor) -> Links:
    return {(t, s) for s, t in _align(weights)}


@align.mistake(
    "You look for the strongest row of each column: each source word gets a link, not each target "
    "word.",
    why="A row sums to one and says what its word reads. A column need not sum to anything: a "
    "source word may be read by all, or by none.",
    hint="Over which axis of (T, S) do you take the argmax?",
)
def strongest_of_each_column(weights: Tensor) -> Links:
    return {(s, int(column.argmax())) for s, column in enumerate(weights[:-1].T)}


@align.mistake(
    "You link all cells above one half.",
    why="A word whose head is undecided has no such cell and gets no link at all. The strongest "
    "cell is there in every row.",
    hint="How many links does a row without any large weight get?",
)
def above_one_half(weights: Tensor) -> Links:
    return {(s, t) for t, s in (weights[:-1] > 0.5).nonzero().tolist()}


@align.mistake(
    "Your links hold tensors, not whole numbers.",
    why="In a set, two tensors of the same number are two things: none of your links would ever "
    "be found among the gold ones.",
    hint="What turns a tensor of one number into a number?",
)
def tensors_in_the_links(weights: Tensor) -> set[Any]:
    return {(row.argmax(), t) for t, row in enumerate(weights[:-1])}


# --- 13.heads_for_figure -------------------------------------------------------------------------


def _drawn(figure: Callable[..., Tensor], *args: Any, refused: bool = False, **kwargs: Any) -> Any:
    return (_refusal if refused else call_plainly)(figure, *args, **kwargs)


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


heads_for_figure = Item(
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


@heads_for_figure.mistake(
    "You draw the column of the word: who reads it, and not what it reads.",
    why="A row is a query, the reader. In Figure 3 the lines start at one word and end at those "
    "that it reads; their weights sum to one.",
    hint="Which axis of (N, B, H, Q, K) does your `query` fix?",
)
def column_of_the_word(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    turned = attention if figure in ("4 above", "5") else attention.transpose(-2, -1)
    return _heads_for_figure(turned, figure, **chosen)


@heads_for_figure.mistake(
    "Your maps lie on their side: (key, query).",
    why="All functions of the course that draw take the query first. A square map turned round "
    "fits just as well, and tells a wrong story.",
    hint="Which axis of what you return sums to one?",
)
def lying_on_its_side(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    return _heads_for_figure(attention.transpose(-2, -1), figure, **chosen)


@heads_for_figure.mistake(
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


@heads_for_figure.mistake(
    "Your heads come in the order of their numbers, not in the order asked for.",
    why="Whoever asks for heads 5 and 2 labels the first picture with 5.",
    hint="Does your code sort, or use a mask, where it should pick?",
)
def heads_sorted(
    attention: Tensor, figure: str, *, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    heads = heads if figure == "4 above" else sorted(heads)
    return _heads_for_figure(attention, figure, heads=heads, **chosen)


@heads_for_figure.mistake(
    "Layer and sentence have changed places.",
    why="The record stacks layers in front of the batch: (N, B, H, Q, K). With one sentence it "
    "fails for all layers but the first; with many it shows another sentence in silence.",
    hint="Say the five letters of the shape, then your indices in the same order.",
)
def layer_and_sentence_swapped(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    return _heads_for_figure(attention.transpose(0, 1), figure, **chosen)


@heads_for_figure.mistake(
    "You always draw the first sentence of the batch.",
    why="The slices of the paper have a 0 there because its record holds one sentence.",
    hint="Does your code use `sentence`?",
)
def always_the_first_sentence(
    attention: Tensor, figure: str, *, sentence: int = 0, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention, figure, **chosen)


@heads_for_figure.mistake(
    "Layers and heads count from 1 in your code.",
    why="Captions count from 1, and the paper's layer 5 is index 4. But the task gives indices.",
    hint="Is a 1 taken away somewhere that was never added?",
)
def counted_from_one(
    attention: Tensor, figure: str, *, layer: int, heads: Sequence[int] = (), **chosen: Any
) -> Tensor:
    heads = [head - 1 for head in heads]
    return _heads_for_figure(attention, figure, layer=layer - 1, heads=heads, **chosen)


@heads_for_figure.mistake(
    "Pads are still in your maps.",
    why="They are no words: a picture with them has rows and columns without a label, and a mean "
    "over its rows counts them.",
    hint="Does your code use `length`?",
)
def pads_are_drawn(
    attention: Tensor, figure: str, *, length: int | None = None, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention, figure, **chosen)


@heads_for_figure.mistake(
    "You cut the pads off as keys, but they are still there as queries.",
    why="A padding mask hides a pad's column. Its row stays: a pad reads like any word, and that "
    "row means nothing.",
    hint="On how many axes do the tokens of the sentence stand?",
)
def pads_still_read(
    attention: Tensor, figure: str, *, length: int | None = None, **chosen: Any
) -> Tensor:
    return _heads_for_figure(attention[..., :length], figure, **chosen)


@heads_for_figure.mistake(
    "For Figure 3 you give the mean of the heads.",
    why="A mean of sharp heads looks like one undecided head. The figure shows all of them, each "
    "in its colour.",
    hint="How many axes does what you return have?",
)
def mean_of_the_heads(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    part = _heads_for_figure(attention, figure, **chosen)
    return part.mean(dim=0) if figure == "3" else part


@heads_for_figure.mistake(
    "The upper part of Figure 4 keeps an axis of one head in your code.",
    why="One head in full is one map, (query, key). A list of one head keeps the axis, a number "
    "takes it away.",
    hint="Index with the head itself.",
)
def one_head_keeps_its_axis(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    part = _heads_for_figure(attention, figure, **chosen)
    return part[None] if figure == "4 above" else part


@heads_for_figure.mistake(
    "An unknown figure is drawn as the last one that you know.",
    why="A misspelt name would give a picture with a wrong title, and no error.",
    hint="What does your last `else` or `return` do with a name that it does not know?",
)
def whatever_is_asked(attention: Tensor, figure: str, **chosen: Any) -> Tensor:
    known = figure if figure in ("3", "4 above", "4 below") else "5"
    return _heads_for_figure(attention, known, **chosen)
