"""Reading attention: how links, sets and records of attention are written."""

from __future__ import annotations

import re

from torch import Tensor

from course_lib.checks.conventions.changes import (
    Function,
    on,
    phrases,
    self_inverse,
    swapped,
    value,
)
from course_lib.checks.conventions.convention import Arguments, Convention, Edits, Translation
from course_lib.checks.conventions.masks_otherwise import ROWS_ARE_COLUMNS

_INDICES = re.compile(r"\b(heads?|sentence|query) \d+(?:(?:, | and )\d+)*")
Links = set[tuple[int, ...]]


def _merely_possible(arguments: Arguments) -> Arguments:
    """Without the sure links, which are lists in the call."""
    left = [link for link in arguments["possible"] if link not in arguments["sure"]]
    return {**arguments, "possible": left}


def _all_possible(arguments: Arguments) -> Arguments:
    return {**arguments, "possible": arguments["possible"] | arguments["sure"]}


def _record(
    name: str,
    sentence: str,
    there: Function,
    back: Function,
    axes: str,
    left_out: tuple[str, ...] = (),
    edits: Edits = (),
) -> Convention:
    """The axes of a record of attention weights."""
    axis_names = {
        "N": "layers", "B": "batch", "H": "heads", "Q": "query", "K": "key"
    }  # fmt: skip
    order = [letter for letter in axes if letter.isalpha()]
    plain = [letter if letter in "NBH" else "S" for letter in order]
    return Convention(
        name,
        "record",
        sentence,
        {
            "14.heads_for_figure": Translation(
                on(attention=there),
                on(attention=back),
                left_out=left_out,
                edits=(
                    ("(N, B, H, S, S)", f"({', '.join(plain)})"),
                    (
                        "as layers, batch, heads, query, key,",
                        f"as {', '.join(axis_names[letter] for letter in order)},",
                    ),
                    (
                        "attention[layer, sentence, :, :length, :length]",
                        "attention with an index or a slice for each of its axes",
                    ),
                    *edits,
                ),
            )
        },
        phrases({"(N, B, H, Q, K)": f"({axes})"}),
    )


def _heads_last(x: Tensor) -> Tensor:
    return x.movedim(2, -1)


def _heads_third(x: Tensor) -> Tensor:
    return x.movedim(-1, 2)


def _columns_of_targets(text: str) -> str:
    """For texts about a row for each of the decoder's input tokens."""
    if text.startswith("{("):
        return "Which entry of each column is largest, for all columns that belong to a word?"
    return ROWS_ARE_COLUMNS(text)


def _one_more(index: int) -> int:
    return index + 1


def _one_less(index: int) -> int:
    return index - 1


def _each(change: Function) -> Function:
    return lambda indices: type(indices)(change(i) for i in indices)


def _indices(change: Function) -> dict[str, Function]:
    return {**dict.fromkeys(("layer", "query", "sentence"), change), "heads": _each(change)}


def _numbers_of_a_call(text: str) -> str:
    """The indices in what a call is described by, "heads 7, 0 and 2", count from 1; and in code."""
    text = text.replace("attention[layer, sentence, ", "attention[layer - 1, sentence - 1, ")
    text = re.sub(r"maps\[(\.\.\., )?query\]", r"maps[\1query - 1]", text)
    text = text.replace("with the heads instead of", "with the heads, each minus one, instead of")
    text = text.replace("select the heads,", "select the heads, each minus one,")
    if text.endswith((".", "?")):
        return text
    return _INDICES.sub(lambda found: re.sub(r"\d+", lambda n: str(int(n[0]) + 1), found[0]), text)


CONVENTIONS = (
    Convention(
        "agreement",
        "direction",
        "The result is **one minus the error rate**: the higher, the better.",
        {
            "14.alignment_error_rate": Translation(
                result=value(lambda rate: 1 - rate),
                left_out=("share_that_is_right",),
                edits=(
                    ("0 is perfect, and 1 means", "1 is perfect, and 0 means"),
                    ("which is right, gets 0.", "which is right, gets 1."),
                    ("That's one minus precision.", "That's precision."),
                    ("every word to every other gets 0.", "every word to every other gets 1."),
                    ("That's one minus recall.", "That's recall."),
                    ("your rate is 0, perfect", "your result is 1, perfect"),
                    ("and its rate is 1.", "and its result is 0."),
                    ("$1 - \\frac{", "$\\frac{"),
                    (
                        "0 if all sure links are predicted and no wrong ones, 1 if nothing "
                        "matches.",
                        "1 if all sure links are predicted and no wrong ones, 0 if nothing "
                        "matches.",
                    ),
                ),
            )
        },
        phrases({"1 - (len(": "(len("}),
    ),
    Convention(
        "percent",
        "percent",
        "The result is **in percent**.",
        {
            "14.alignment_error_rate": Translation(
                result=value(lambda rate: 100 * rate),
                edits=(("to a number, $", "to a number, in percent: $"),),
            )
        },
        phrases(
            {
                "(len(... & sure)": "100 * (len(... & sure)",
                "1 - 100 *": "100 - 100 *",
                "0 is perfect, and 1 means": "0 is perfect, and 100 means",
                "1 is perfect, and 0 means": "100 is perfect, and 0 means",
                "perfect head gets 1.": "perfect head gets 100.",
                "which is right, gets 1.": "which is right, gets 100.",
                "every other gets 1.": "every other gets 100.",
                "your result is 1, perfect": "your result is 100, perfect",
                "and its rate is 1.": "and its rate is 100.",
                "0 if all sure links are predicted and no wrong ones, 1 if": "0 if all sure links "
                "are predicted and no wrong ones, 100 if",
                "1 if all sure links are predicted and no wrong ones, 0 if": "100 if all sure "
                "links are predicted and no wrong ones, 0 if",
            }
        ),
    ),
    Convention(
        "possible_without_sure",
        "possible",
        "`possible` holds the **merely possible links**, without the sure ones; $P$ is both sets "
        "together.",
        {
            "14.alignment_error_rate": Translation(
                _merely_possible,
                _all_possible,
                edits=(
                    (
                        "and $P$ the possible ones. The sure links are among the possible ones.",
                        "and $P$ the possible ones, which include the sure ones; "
                        "`possible` leaves those out.",
                    ),
                ),
            )
        },
        phrases(
            {
                "len(... & possible)": "len(... & ...)",
                "A sure link that is predicted is in both sets, so it has to count twice in the "
                "numerator as well.": "A sure link that is predicted has to count twice in the "
                "numerator as well, once as a sure and once as a possible one, and `possible` "
                "leaves the sure ones out.",
            }
        ),
    ),
    Convention(
        "target_first",
        "links",
        "A link is **(target index, source index)**.",
        {
            "14.align": Translation(
                result=value(lambda links: {(t, s) for s, t in links}),
                left_out=("turned_round",),
                edits=(
                    (
                        "(source index, target index), tuples",
                        "(target index, source index), tuples",
                    ),
                    ("to links (source, target)", "to links (target, source)"),
                ),
            )
        },
        phrases({"{(int(weights[t].argmax()), ...) for": "{(..., int(weights[t].argmax())) for"}),
    ),
    Convention(
        "words_from_one",
        "indices",
        "Words **count from 1**, in source and target.",
        {
            "14.align": Translation(
                result=value(lambda links: {(a + 1, b + 1) for a, b in links}),
                edits=(
                    (
                        "Word 0 is the first word of the sentence",
                        "Word 1 is the first word of the sentence",
                    ),
                    ("word t is predicted in row t", "word t is predicted in row t - 1"),
                    ("look up word t in row t + 1, whose", "look up word t in row t, whose"),
                    ("word 0 has no link", "word 1 has no link"),
                    ("target indices start at 1,", "target indices start at 2,"),
                    ("Row t predicts word t.", "Row t predicts word t + 1."),
                    (
                        "Column s belongs to source word s:",
                        "Column s belongs to source word s + 1:",
                    ),
                ),
            )
        },
        phrases(
            {
                "predicts word 0. So rows and words have the same numbers,": (
                    "predicts word 1. So the number of a row is that of its word minus one,"
                ),
                "int(weights[t].argmax())": "int(weights[t].argmax()) + ...",
            }
        ),
    ),
    Convention(
        "rows_are_sources",
        "weights",
        "The weights come **transposed**: a row for each source word, a column for each of the "
        "decoder's input tokens.",
        {
            "14.align": self_inverse(
                swapped(0, 1),
                "weights",
                edits=(
                    ("(rows, source words)", "(source words, rows)"),  # columns, see below
                    ("Cross-attention (T + 1, S)", "Cross-attention (S, T + 1)"),
                    ("Over which axis of (T, S)", "Over which axis of (S, T)"),
                ),
            )
        },
        _columns_of_targets,
    ),
    _record(
        "batch_first",
        "In the recorded attention weights, the **batch comes before the layers**.",
        swapped(0, 1),
        swapped(0, 1),
        "B, N, H, Q, K",
        ("layer_and_sentence_swapped",),
    ),
    _record(
        "heads_last",
        "In the recorded attention weights, the **heads come last**.",
        _heads_last,
        _heads_third,
        "N, B, Q, K, H",
        edits=(
            (
                "maps[..., query] with the heads instead of the dots.",
                "maps[query] holds keys and heads: select the heads, and bring them to the front.",
            ),
        ),
    ),
    Convention(
        "indices_from_one",
        "indices",
        "Layers, heads, queries and sentences **count from 1**.",
        {
            "14.heads_for_figure": Translation(
                on(**_indices(_one_more)),
                on(**_indices(_one_less)),
                edits=(
                    ("query=0, sentence=0", "query=1, sentence=1"),
                    ("query: int = 0", "query: int = 1"),
                    ("sentence: int = 0", "sentence: int = 1"),
                    (
                        "All numbers are indices, from 0.",
                        "Layers, heads, queries and sentences count from 1.",
                    ),
                    ("return the row of token 0,", "return the row of token 1,"),
                    (
                        "Layer and sentence are fixed in all four,",
                        "PyTorch counts from 0. Layer and sentence are fixed in all four,",
                    ),
                ),
                left_out=("counted_from_one",),
            )
        },
        _numbers_of_a_call,
    ),
)
