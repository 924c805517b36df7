"""The conventions of the order of axes, and of the columns of the positional encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lib.checks.conventions.changes import on, pair, same, value
from course_lib.checks.conventions.convention import (
    Convention,
    Derived,
    Translation,
    touched,
)
from course_lib.checks.conventions.reordering import Dims, by_shapes

Change = Callable[[Tensor], Tensor]
_FEATURES = {"d_model", "d_inner", "heads*d_head"}


def _sequences(dims: Dims, indices: Sequence[int]) -> Sequence[int] | None:
    """For (batch, length) and (batch, length, d_model); those of the indices that are there."""
    is_vectors = len(dims) == 3 and dims[2] in _FEATURES
    if dims[0] != "batch" or not (is_vectors or len(dims) == 2):
        return None
    return [i for i in indices if i < len(dims)]


def _vectors(dims: Dims, indices: Sequence[int]) -> Sequence[int] | None:
    return _sequences(dims, indices) if len(dims) == 3 else None


def _of_heads(dims: Dims, indices: Sequence[int]) -> Sequence[int] | None:
    is_taken = len(dims) == 4 and dims[0] == "batch" and dims[3] in ("d_head", "d_value")
    return indices if is_taken else None


def _keys_then_queries(dims: Dims) -> Sequence[int] | None:
    if dims[-1] != "key" or dims[-2] not in ("query", "1"):
        return None
    *others, query, key = range(len(dims))
    return [*others, key, query]


def _with_a_batch(dims: Dims, indices: Sequence[int]) -> Sequence[int] | None:
    return indices if dims[0] == "batch" else None


def _exactly(*names: str, order: Sequence[int]) -> Derived:
    """For tensors with exactly these axes."""
    return by_shapes(lambda dims: order if dims == names else None)


# A shape such as "(B, S, D)", or words and code about axes.
_SHAPE = r"\((?:[\w…·+−√ -]+, )+[\w…·+−√ -]+,?\)"
_CODE = r"self\.\w+\(|dim=|\[[^\]]*:[^\]]*\]|\.(?:mT|T)\b|@|->|\.view|\.size|\.shape"
_AXES = (
    r"axis|axes|rows?|columns?|transpos\w+|swap\w*|reshape\w*|flatten\w*|view|stride\w*|"
    r"contiguous|split|join|shapes?|broadcast\w*|behind|in front"
)
_TOUCHED = touched(_AXES, also=f"{_SHAPE}|{_CODE}")
_SAME_PARTS = (
    "Parts of the course that you call keep the lesson's order, and so do PyTorch's: move the axes "
    "before and after."
)


def _orders() -> tuple[Convention, ...]:
    """Of the axes batch, position and features."""

    def convention(name: str, paragraph: str, taken: Derived, lessons: Sequence[str]) -> Convention:
        return Convention(
            name=name,
            aspect="axes",
            paragraph=paragraph,
            touched=_TOUCHED,
            derived=taken,
            lessons=tuple(lessons),
        )

    return (
        # Not in lesson 03: the network is the same at every position, so the public answer fits.
        convention(
            "seq_first",
            "The **position is the first axis and the batch the second**, as in PyTorch's modules "
            "with `batch_first=False`: (seq, batch) for ids, (seq, batch, d_model) for vectors. "
            "Where the task has two or three axes, the batch first, as in (B, S) or (B, S, D), "
            "exchange the first two, both in what your code is given and in what it returns; a "
            "sentence is then a column, not a row. This is not about tensors with four axes, such "
            f"as masks. {_SAME_PARTS}",
            by_shapes(lambda dims: _sequences(dims, (1, 0, 2))),
            ("02", "04", "07", "09"),
        ),
        convention(
            "features_second",
            "The **position is the last axis** of vectors: they are (batch, d_model, seq), as in "
            "convolutions. Where the task has (B, S, D), or the same with another letter for the "
            "position, exchange the last two axes, both in what your code is given and in what it "
            f"returns. This is not about tensors with four axes, such as masks. {_SAME_PARTS}",
            by_shapes(lambda dims: _vectors(dims, (0, 2, 1))),
            ("03", "04", "07"),
        ),
        convention(
            "batch_third",
            "The **batch is the last axis** of vectors: they are (seq, d_model, batch). Where the "
            "task has (B, S, D), or the same with another letter for the position, read "
            "(S, D, B), both in what your code is given and in what it returns. Masks stay as they "
            f"are. {_SAME_PARTS}",
            by_shapes(lambda dims: _vectors(dims, (1, 2, 0))),
            ("03", "07"),
        ),
    )


def _heads(
    name: str,
    sentence: str,
    exchanged: str,
    *,
    indices: Sequence[int],
    lessons: tuple[str, ...] = ("04",),
) -> Convention:
    """Where the axis of heads is in queries, keys, values and contexts."""
    return Convention(
        name=name,
        aspect="heads",
        paragraph=f"{sentence} Scores, weights and masks stay (batch, heads, query, key). Where "
        f"the task has four axes that end with E or V, exchange the {exchanged}, both in what your "
        "code is given and in what it returns.",
        touched=_TOUCHED,
        derived=by_shapes(lambda dims: _of_heads(dims, indices)),
        lessons=lessons,
    )


def _logits(name: str, paragraph: str, indices: Sequence[int]) -> Convention:
    """Where the vocabulary is in logits."""
    return Convention(
        name=name,
        aspect="logits",
        paragraph=f"{paragraph} Labels stay (B, T). This is about the argument `logits` of your "
        "own functions. A model that you call returns the vocabulary last, as in the lesson: move "
        "its axes before you pass its logits on.",
        touched=touched(f"{_AXES}|V|position|gather", also=f"{_SHAPE}|{_CODE}|softmax"),
        derived=_exactly("batch", "target", "vocab", order=indices),
        lessons=("10", "11"),
    )


def _columns(
    name: str, aspect: str, *, paragraph: str, words: str, order: Callable[[int], list[int]]
) -> Convention:
    """The columns of the positional encoding; ``order`` goes from d_model to their new order."""

    def there(x: Tensor) -> Tensor:
        return x[..., order(x.size(-1))]

    def back(x: Tensor) -> Tensor:
        new = order(x.size(-1))
        return x[..., [new.index(i) for i in range(len(new))]]

    def both_axes(x: Tensor) -> Tensor:
        return there(there(x).mT).mT

    return Convention(
        name=name,
        aspect=aspect,
        paragraph=f"{paragraph} This holds for the table, for what the module adds, and for the "
        "encodings that the shift matrix works on.",
        touched=touched(
            rf"columns?|even|odd|halves|half of|blocks?|diagonal|interleav\w*|layout|{words}",
            also=r"stack|cat\(|, sin|ω",
        ),
        items={
            "01.sinusoidal_positions": Translation(result=value(there)),
            "01.positional_encoding": Translation(
                given=on(x=there, first=there),
                understood=on(x=back),
                result=value(there),
                back=back,
            ),
            "01.shift_matrix": Translation(result=value(both_axes)),
        },
    )


def _second_half_negative(x: Tensor) -> Tensor:
    u, v = x.chunk(2, dim=-1)
    return torch.cat((u, -v), dim=-1)


def _halves_to_pairs(x: Tensor) -> Tensor:
    return torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)


def _pairs_to_halves(x: Tensor) -> Tensor:
    return torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1)


def _pairs(
    name: str, aspect: str, *, paragraph: str, words: str, there: Change, back: Change
) -> Convention:
    """The features of a head that a rotation turns together."""
    return Convention(
        name=name,
        aspect=aspect,
        paragraph=paragraph,
        touched=touched(words, also=r"E/2|2i|chunk|cat|sin|cos"),
        items={
            "17.rotate": Translation(
                given=on(x=there), understood=on(x=back), result=value(there), back=back
            )
        },
    )


def _positions_second(past: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    return tuple(x.transpose(1, 2) for x in past)


_PAST_POSITIONS_SECOND = Translation(
    given=on(past=_positions_second),
    understood=on(past=_positions_second),
    result=pair(same, _positions_second),
)


CONVENTIONS = (
    _columns(
        "cosine_first",
        "pairs",
        paragraph="In the encoding, each frequency's **cosine comes before its sine**. Where the "
        "task puts a sine before a cosine, exchange them.",
        words="sines?|cosines?|sin|cos",
        order=lambda d_model: [i ^ 1 for i in range(d_model)],
    ),
    _columns(
        "slowest_first",
        "frequencies",
        paragraph="In the encoding, the frequencies rise: **the lowest comes first**, and the last "
        "one advances by one radian per position. The task numbers them from the highest to the "
        "lowest: read its columns in the opposite order of frequencies.",
        words="pairs?|first|last|highest|lowest|rises?|falls?|falling|order|one before",
        order=lambda d_model: [
            i for first in range(d_model - 2, -1, -2) for i in (first, first + 1)
        ],
    ),
    _columns(
        "concatenated",
        "halves",
        paragraph="The encoding is **concatenated, not interleaved**: the left half has one column "
        "of each frequency, and the right half the other one, both in the same order of "
        "frequencies. The left half has the column that would otherwise come first. Where the "
        "task puts the two columns of a frequency side by side, put them into the two halves.",
        words="pairs?|side by side|concatenat\\w*|left|right",
        order=lambda d_model: [*range(0, d_model, 2), *range(1, d_model, 2)],
    ),
    Convention(
        name="vectors_first",
        aspect="vectors",
        paragraph="A vector runs along the **first axis**: x and the result are (D, …), where the "
        "task has (…, D), and there may be any number of axes after D. `weight` and `bias` stay "
        "(D,).",
        touched=_TOUCHED,
        derived=_exactly("*batch", "d_model", order=(1, 0)),
        lessons=("03",),
    ),
    Convention(
        name="keys_then_queries",
        aspect="scores",
        paragraph="Scores, masks and weights have the **keys before the queries**: (…, key, "
        "query). A query's weights are a column, not a row, and sum to one there. Where the task "
        "names the axis of the queries and then that of the keys, as in (B, H, Q, K), exchange "
        "these two; a padding mask is (B, 1, S, 1). Where the task mentions a row of weights, "
        "scores or a mask, read column.",
        touched=_TOUCHED,
        derived=by_shapes(_keys_then_queries),
        lessons=("05", "06", "16"),
    ),
    _heads(
        "heads_third",
        "Queries, keys, values and contexts of all heads have the **positions before the heads**: "
        "(batch, seq, heads, d_head).",
        "second axis and the third",
        indices=(0, 2, 1, 3),
        lessons=("04", "17"),
    ),
    _heads(
        "heads_first",
        "Queries, keys, values and contexts of all heads have the **heads in front of the batch**: "
        "(heads, batch, seq, d_head).",
        "first axis and the second",
        indices=(1, 0, 2, 3),  # not in lesson 17: heads and texts are turned alike
    ),
    *_orders(),
    # Not the batch as the second axis: "bse,bse->bs" would be right there, too.
    Convention(
        name="batch_last",
        aspect="batch",
        paragraph="The **batch is the last axis** of every tensor that has one, masks among them: "
        "where the task has (B, S, E), read (S, E, B), both in what your code is given and in what "
        "it returns. Tensors without a batch, such as `w_q` or `share`, stay as they are.",
        touched=_TOUCHED,
        derived=by_shapes(lambda dims: _with_a_batch(dims, [*range(1, len(dims)), 0])),
        lessons=("05",),
    ),
    Convention(
        name="axes_reversed",
        aspect="batch",
        paragraph="Tensors that have a batch, masks among them, have **all axes in the opposite "
        "order**: where the task has (B, S, E), read (E, S, B), and where it has (B, H, Q, K), "
        "read (K, Q, H, B), both in what your code is given and in what it returns. The batch is "
        "last. Tensors without a batch, such as `w_q` or `share`, stay as they are. What the task "
        "says of rows and columns, or of what comes first, is about its own order.",
        touched=_TOUCHED,
        derived=by_shapes(lambda dims: _with_a_batch(dims, range(len(dims))[::-1])),
        lessons=("05",),
        apart=("keys_then_queries",),
    ),
    # Not the length first: what is summed over all positions would be right there, too.
    _logits(
        "vocabulary_second",
        "Logits are **(batch, vocabulary, length)**, as `F.cross_entropy` takes them: where the "
        "task has logits (B, T, V), read (B, V, T).",
        (0, 2, 1),
    ),
    _logits(
        "vocabulary_first",
        "Logits are **(vocabulary, batch, length)**: where the task has logits (B, T, V), read "
        "(V, B, T).",
        (2, 0, 1),
    ),
    Convention(
        name="samples_are_columns",
        aspect="resamples",
        paragraph="`resamples` has the shape **(N, R)**, where the task has (R, N): each column is "
        "one sample.",
        touched=touched(_AXES, also=f"{_SHAPE}|dim=|\\bR\\b"),
        derived=_exactly("samples", "sentences", order=(1, 0)),
        lessons=("12",),
    ),
    Convention(
        name="time_first",
        aspect="axes",
        paragraph="A batch of translations is returned with the **position first**, (T, B), where "
        "the task has (B, T): what it calls a row is a column of what you return. The source, and "
        "what the model takes and gives, stay as in the lesson.",
        touched=_TOUCHED,
        derived=_exactly("batch", "target", order=(1, 0)),
        lessons=("13",),
    ),
    Convention(
        name="positions_second",
        aspect="axes of the past",
        paragraph="Keys and values of a past, the old one and the new one, are **(batch, position, "
        "heads, d_head)**: where the task has (B, H, t, E), read (B, t, H, E). The new token's key "
        "and value are at the last position.",
        touched=touched(f"{_AXES}|cat", also=f"{_SHAPE}|{_CODE}"),
        items={"13.cached_step": _PAST_POSITIONS_SECOND},
    ),
    # Signs before the layout: what changes signs has the public layout.
    _pairs(
        "turned_back",
        "direction",
        paragraph="Pairs are turned in the **other direction**, by −a: where the task has sin a, "
        "read −sin a.",
        words="turns?|turned|direction|backwards|clockwise|minus|plus|signs?|sines?|cosines?",
        there=_second_half_negative,
        back=_second_half_negative,
    ),
    _pairs(
        "interleaved_pairs",
        "layout",
        paragraph="The pairs of a head are **interleaved**: features 2i and 2i + 1 are a pair, "
        "where the task pairs i with i + E/2 and names that layout halves. The frequency of pair i "
        "stays, and its two results stand where u and v stood.",
        words=r"pairs?|halves|half|first|second|interleav\w*|layout|neighbours|join\w*|cut",
        there=_halves_to_pairs,
        back=_pairs_to_halves,
    ),
    Convention(
        name="kept_positions_second",
        aspect="axes of the past",
        paragraph="Keys and values of a past, the old one and the new one, are **(batch, position, "
        "heads, d_head)**: where the task has (B, G, t, E), read (B, t, G, E), and the same for "
        "the values and for t + n. The new tokens are the last positions. `query`, `key` and "
        "`value` stay as they are.",
        touched=touched(f"{_AXES}|cat", also=f"{_SHAPE}|{_CODE}"),
        items={"18.grouped_query_attention": _PAST_POSITIONS_SECOND},
    ),
    Convention(
        name="rows_are_sources",
        aspect="weights",
        paragraph="The weights come **transposed**: a row for each source word, and a column for "
        "each of the decoder's input tokens. Where the task or its shape (T + 1, S) mentions a "
        "row of weights, read column.",
        touched=touched(f"{_AXES}|argmax", also=f"{_SHAPE}|{_CODE}"),
        derived=_exactly("rows", "source", order=(1, 0)),
        lessons=("14",),
    ),
)
