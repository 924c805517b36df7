"""05.puzzle_3: Scores, heads first."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.item import Item
from course_lib.checks.items.attention_einsum.einsum_parts import puzzle_probes


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bhqk", query, key)


item = Item(
    "05.puzzle_3",
    reference=scaled_scores,
    probes=puzzle_probes(
        "each query meets every key of its own head and sentence",
        unlike=[(2, 4, 3, 6), (2, 5, 3, 6)],
        alike=[(3, 3, 3, 3), (3, 3, 3, 3)],
        lone=[(1, 1, 2, 1), (1, 3, 2, 1)],
    ),
    tolerance=1e-4,
    hints=(
        "Give each axis its letter first, without thinking of the result. Are the words of query "
        "and key one loop or two?",
        "Sentences, heads and numbers go in step. Readers and keys have a letter each. Behind the "
        "arrow stands the order that is wanted.",
        '"bqhe,b.he->bh.."',
    ),
)


@item.misconception(
    "Your axes come in the order of the inputs, (B, Q, H, K): heads were to come first.",
    why="A mask (1, 1, Q, K) would meet the heads there. With as many words as heads there is no "
    "error, and the model is wrong in silence.",
    hint="Behind the arrow you may ask for any order.",
)
def words_before_heads(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bqhk", query, key)


@item.misconception(
    "Your scores are mirrored: rows are keys and columns are queries.",
    why="Softmax along the last axis would share out the weight of each key among the readers.",
    hint="In which order do q and k stand behind your arrow?",
)
def mirrored(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bhkq", query, key)


@item.misconception(
    "Each query meets the sum of the keys of all heads.",
    why="The heads of the key have a letter of their own, and it is missing on the right: it is "
    "summed over.",
    hint="How many letters do the heads have in your string?",
)
def keys_of_all_heads(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkge->bhqk", query, key)


@item.misconception(
    "Each sentence reads the keys of all sentences, added up.",
    why="Two letters for the batch are two loops, and the one that is missing on the right is "
    "summed over.",
    hint="How many letters do the sentences have in your string?",
)
def keys_of_all_sentences(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,akhe->bhqk", query, key)


@item.misconception(
    "The heads are added up: (B, Q, K).",
    why="Each head asks a question of its own, and has scores of its own.",
    hint="Which letter is missing behind the arrow besides e?",
)
def heads_added_up(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bqk", query, key)


@item.misconception(
    "Your scores are divided by √E. That is right in attention, but not asked for here.",
    why="A puzzle wants the plain sum of products.",
    hint="The string alone is the answer.",
)
def scaled_unasked(query: Tensor, key: Tensor) -> Tensor:
    return scaled_scores(query, key) / query.size(-1) ** 0.5
