"""Reading attention: how links, sets and records of attention are written."""

from __future__ import annotations

from torch import Tensor

from course_lib.checks.conventions.changes import (
    Function,
    on,
    phrases,
    self_inverse,
    swapped,
    value,
    words,
)
from course_lib.checks.conventions.convention import Arguments, Convention, Translation

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
    forgotten: tuple[str, ...] = (),
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
            "13.heads_for_figure": Translation(
                on(attention=there),
                on(attention=back),
                forgotten=forgotten,
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
    """For hints about a row for each token that the decoder reads."""
    if text.startswith("{("):
        return "Which entry of each column is largest, for all columns that belong to a word?"
    return words({"row": "column", "rows": "columns", "Row": "Column"})(text)


def _one_more(index: int) -> int:
    return index + 1


def _one_less(index: int) -> int:
    return index - 1


def _each(change: Function) -> Function:
    return lambda indices: type(indices)(change(i) for i in indices)


def _indices(change: Function) -> dict[str, Function]:
    return {**dict.fromkeys(("layer", "query", "sentence"), change), "heads": _each(change)}


CONVENTIONS = (
    Convention(
        "agreement",
        "direction",
        "What is returned is **one minus the error rate**: the higher, the better.",
        {
            "13.alignment_error_rate": Translation(
                result=value(lambda rate: 1 - rate),
                forgotten=("share_that_is_right",),
                edits=(
                    ("$1 - \\frac{", "$\\frac{"),
                    (
                        "0 if all sure links are found and no impossible one, 1 if nothing fits.",
                        "1 if all sure links are found and no impossible one, 0 if nothing fits.",
                    ),
                ),
            )
        },
        phrases({"1 - (len(": "(len("}),
    ),
    Convention(
        "percent",
        "percent",
        "What is returned is **in percent**.",
        {
            "13.alignment_error_rate": Translation(
                result=value(lambda rate: 100 * rate),
                edits=(("to a number, $", "to a number, 100 times $"),),
            )
        },
        phrases(
            {
                "0 if all sure links are found and no impossible one, 1 if": "0 if all sure links "
                "are found and no impossible one, 100 if",
                "1 if all sure links are found and no impossible one, 0 if": "100 if all sure "
                "links are found and no impossible one, 0 if",
            }
        ),
    ),
    Convention(
        "possible_without_sure",
        "possible",
        "`possible` holds the **merely possible links**, without the sure ones; $P$ is both sets "
        "together.",
        {
            "13.alignment_error_rate": Translation(
                _merely_possible,
                _all_possible,
                edits=(
                    (
                        "The sure links are among the possible ones.",
                        "The sure links are not in `possible`.",
                    ),
                ),
            )
        },
        phrases({"len(... & possible)": "len(... & ...)"}),
    ),
    Convention(
        "target_first",
        "links",
        "A link is **(target index, source index)**.",
        {
            "13.align": Translation(
                result=value(lambda links: {(t, s) for s, t in links}),
                forgotten=("turned_round",),
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
            "13.align": Translation(
                result=value(lambda links: {(a + 1, b + 1) for a, b in links}),
                edits=(
                    (
                        "Word 0 is the first word of the sentence",
                        "Word 1 is the first word of the sentence",
                    ),
                ),
            )
        },
        phrases(
            {
                "predicts word 0. So rows and words have the same numbers,": (
                    "predicts word 1. So the number of a row is that of its word minus one,"
                )
            }
        ),
    ),
    Convention(
        "rows_are_sources",
        "weights",
        "The weights come **transposed**: a row for each source word, a column for each token that "
        "the decoder reads.",
        {
            "13.align": self_inverse(
                swapped(0, 1),
                "weights",
                edits=(
                    ("(rows, source words)", "(source words, columns)"),
                    ("there is one row more than words", "there is one column more than words"),
                    ("No two weights of a row are alike.", "No two weights of a column are alike."),
                    (
                        "Cross-attention (T + 1, S), a row for each token read",
                        "Cross-attention (S, T + 1), a column for each token read",
                    ),
                    ("word t is predicted in row t", "word t is predicted in column t"),
                ),
            )
        },
        _columns_of_targets,
    ),
    _record(
        "batch_first",
        "The record has the **batch before the layers**.",
        swapped(0, 1),
        swapped(0, 1),
        "B, N, H, Q, K",
        ("layer_and_sentence_swapped",),
    ),
    _record(
        "heads_last",
        "The record has the **heads last**.",
        _heads_last,
        _heads_third,
        "N, B, Q, K, H",
    ),
    Convention(
        "indices_from_one",
        "indices",
        "Layers, heads, queries and sentences **count from 1**.",
        {
            "13.heads_for_figure": Translation(
                on(**_indices(_one_more)),
                on(**_indices(_one_less)),
                edits=(
                    ("query=0, sentence=0", "query=1, sentence=1"),
                    ("query: int = 0", "query: int = 1"),
                    ("sentence: int = 0", "sentence: int = 1"),
                    ("All numbers are indices, from 0.", "All numbers are indices, from 1."),
                ),
            )
        },
    ),
)
