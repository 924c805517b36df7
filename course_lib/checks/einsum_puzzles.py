"""The five puzzles of lesson 05: which letters meet, which are kept, which are summed over.

b sentences, h heads, q words that read, k words that are read, s words, e numbers per word.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe

Shapes = Sequence[tuple[int, ...]]


def _probes(claim: str, unlike: Shapes, alike: Shapes, lone: Shapes) -> list[Probe]:
    """Three looks at one string: sizes that differ, sizes that do not, and all the rest."""

    def call(draw: Draw, shapes: Shapes, about: str, gradients: bool = False) -> Call:
        return Call(tuple(draw.normal(*shape) for shape in shapes), {}, about, gradients)

    def others(draw: Draw) -> list[Call]:
        doubles = tuple(draw.normal(*shape, dtype=torch.float64) for shape in unlike)
        turned = tuple(
            draw.normal(*reversed(shape)).permute(*_backwards(shape)) for shape in unlike
        )
        return [
            Call(doubles, about="float64"),
            Call(turned, about="tensors that are not contiguous"),
            call(draw, unlike, "gradients", gradients=True),
        ]

    return [
        Probe(claim, lambda draw: [call(draw, unlike, "all sizes differ")]),
        Probe(
            "axes of one size are not mixed up",
            lambda draw: [
                call(draw, alike, "sizes that are alike"),
                call(draw, lone, "axes of size 1"),
            ],
        ),
        Probe("float64, any memory layout, and gradients", others),
    ]


def _backwards(shape: tuple[int, ...]) -> list[int]:
    return list(range(len(shape)))[::-1]


# --- 05.puzzle_1: word by word -------------------------------------------------------------------


def _word_by_word(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bse->bs", a, b)


puzzle_1 = Item(
    "05.puzzle_1",
    reference=_word_by_word,
    probes=_probes(
        "each word meets the same word of the other tensor, and no other",
        unlike=[(2, 3, 5), (2, 3, 5)],
        alike=[(3, 3, 3), (3, 3, 3)],
        lone=[(1, 4, 1), (1, 4, 1)],
    ),
    hints=(
        "Which axes go in step? Those get the same letters in both inputs.",
        "All three axes go in step. One of them is added up, so it is missing behind the arrow.",
        '"bse,...->..."',
    ),
)


@puzzle_1.mistake(
    "Your result holds every word of a against every word of b: (B, S, S).",
    why="Two letters for the words are two loops, so all pairs meet. These are scores; only their "
    "diagonal is asked for.",
    hint="How many letters do the words of the two tensors have in your string?",
)
def all_pairs(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bqe,bke->bqk", a, b)


@puzzle_1.mistake(
    "Nothing is added up in your result: it holds the products themselves, (B, S, E).",
    why="A letter behind the arrow is kept. A dot product is a sum over the numbers of a word.",
    hint="Which letter has to be missing on the right?",
)
def products_kept(a: Tensor, b: Tensor) -> Tensor:
    return a * b


@puzzle_1.mistake(
    "You add up over the words and keep the numbers: (B, E).",
    why="Asked for is one number for each word. It is the word's numbers that are added up.",
    hint="Which of s and e does the result need?",
)
def summed_over_words(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bse->be", a, b)


@puzzle_1.mistake(
    "You add up over words and numbers: one number for each sentence.",
    why="A letter that is missing behind the arrow is summed over, and two are missing in yours.",
    hint="The result has two axes.",
)
def one_for_each_sentence(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bse->b", a, b)


@puzzle_1.mistake(
    "Your number is the sum of a word of a, times the sum of the same word of b.",
    why="If the numbers have two letters, one in each input, they do not go in step: each is "
    "summed over alone.",
    hint="Look for a letter that stands in one input only, and not on the right.",
)
def lonely_numbers(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bse,bsf->bs", a, b)


@puzzle_1.mistake(
    "You take the mean over the numbers of a word, not the sum.",
    why="A dot product adds up. The mean is smaller by the factor E.",
    hint="Is there a division too many?",
)
def mean_of_products(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).mean(dim=-1)


# --- 05.puzzle_2: everything meets everything ----------------------------------------------------


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->bij", a, b)


puzzle_2 = Item(
    "05.puzzle_2",
    reference=_outer,
    probes=_probes(
        "within a sentence every number meets every other",
        unlike=[(2, 3), (2, 5)],
        alike=[(3, 3), (3, 3)],
        lone=[(1, 4), (1, 1)],
    ),
    hints=(
        "What goes in step, and what meets everything?",
        "The sentences go in step: one letter. The numbers of a and b each get a letter of their "
        "own, and all letters are kept.",
        '"bi,...->b.."',
    ),
)


@puzzle_2.mistake(
    "Every sentence of a meets every sentence of b: (B, B, I, J).",
    why="Two letters for the sentences are two loops. Sentences of one batch have nothing to do "
    "with each other.",
    hint="Which axis goes in step in both inputs?",
)
def all_sentences_meet(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ai,bj->abij", a, b)


@puzzle_2.mistake(
    "The last two axes are swapped: (B, J, I).",
    why="The order of the letters behind the arrow is the order of the axes.",
    hint="Whose numbers are the rows?",
)
def rows_and_columns_swapped(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->bji", a, b)


@puzzle_2.mistake(
    "Your sentences are added up: the result has no axis for them.",
    why="b is missing behind the arrow, so it is summed over.",
    hint="How many axes does the result have?",
)
def sentences_added(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->ij", a, b)


@puzzle_2.mistake(
    "Every sentence uses the sum of all sentences of a: the shape is right, the numbers are not.",
    why="The sentences of a have a letter of their own, and it is missing on the right. So it is "
    "summed over, and sentences leak into each other.",
    hint="Look for a letter that stands in one input only, and not on the right.",
)
def sentences_leak(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ai,bj->bij", a, b)


@puzzle_2.mistake(
    "The numbers of b are added up before they meet those of a.",
    why="j is missing behind the arrow. In an outer product nothing is added up.",
    hint="Count the letters behind the arrow: how many axes are wanted?",
)
def second_added(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bi,bj->bi", a, b)


# --- 05.puzzle_3: scores from words first --------------------------------------------------------


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bhqk", query, key)


puzzle_3 = Item(
    "05.puzzle_3",
    reference=_scores,
    probes=_probes(
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


@puzzle_3.mistake(
    "Your axes come in the order of the inputs, (B, Q, H, K): heads were to come first.",
    why="A mask (1, 1, Q, K) would meet the heads there. With as many words as heads there is no "
    "error, and the model is wrong in silence.",
    hint="Behind the arrow you may ask for any order.",
)
def words_before_heads(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bqhk", query, key)


@puzzle_3.mistake(
    "Your scores are mirrored: rows are keys and columns are queries.",
    why="Softmax along the last axis would share out the weight of each key among the readers.",
    hint="In which order do q and k stand behind your arrow?",
)
def mirrored(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bhkq", query, key)


@puzzle_3.mistake(
    "Each query meets the sum of the keys of all heads.",
    why="The heads of the key have a letter of their own, and it is missing on the right: it is "
    "summed over.",
    hint="How many letters do the heads have in your string?",
)
def keys_of_all_heads(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkge->bhqk", query, key)


@puzzle_3.mistake(
    "Each sentence reads the keys of all sentences, added up.",
    why="Two letters for the batch are two loops, and the one that is missing on the right is "
    "summed over.",
    hint="How many letters do the sentences have in your string?",
)
def keys_of_all_sentences(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,akhe->bhqk", query, key)


@puzzle_3.mistake(
    "The heads are added up: (B, Q, K).",
    why="Each head asks a question of its own, and has scores of its own.",
    hint="Which letter is missing behind the arrow besides e?",
)
def heads_added_up(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("bqhe,bkhe->bqk", query, key)


@puzzle_3.mistake(
    "Your scores are divided by √E. That is right in attention, but not asked for here.",
    why="A puzzle wants the plain sum of products.",
    hint="The string alone is the answer.",
)
def scaled_unasked(query: Tensor, key: Tensor) -> Tensor:
    return _scores(query, key) / query.size(-1) ** 0.5


# --- 05.puzzle_4: the diagonal -------------------------------------------------------------------


def _trace(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->bh", weights)


puzzle_4 = Item(
    "05.puzzle_4",
    reference=_trace,
    probes=_probes(
        "only what each word gives to itself is added up",
        unlike=[(2, 3, 5, 5)],
        alike=[(4, 4, 4, 4)],
        lone=[(1, 3, 1, 1)],
    ),
    hints=(
        "On the diagonal, row and column are the same word. How do you say that with letters?",
        "A letter that stands twice in one input visits only the places where both are equal.",
        '"bh..->bh", with one letter in place of both dots.',
    ),
)


@puzzle_4.mistake(
    "You give the diagonal itself, (B, H, S), not its sum.",
    why="The letter of the words is still behind the arrow, so it is kept.",
    hint="Which letters does a result (B, H) have?",
)
def diagonal_kept(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->bhs", weights)


@puzzle_4.mistake(
    "You add up the whole table, not its diagonal.",
    why="With two letters, q and k, all pairs are visited. For weights that sum is always S, and "
    "says nothing.",
    hint="Readers and words that are read have to be the same word.",
)
def whole_table(weights: Tensor) -> Tensor:
    return torch.einsum("bhqk->bh", weights)


@puzzle_4.mistake(
    "Your heads are added up, too: one number for each sentence.",
    why="h is missing behind the arrow, so it is summed over.",
    hint="Which letters does a result (B, H) have?",
)
def heads_added_too(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->b", weights)


@puzzle_4.mistake(
    "You take the mean of the diagonal, not its sum.",
    why="Einsum adds up. The mean is smaller by the factor S.",
    hint="Is there a division too many?",
)
def mean_of_the_diagonal(weights: Tensor) -> Tensor:
    return weights.diagonal(dim1=-2, dim2=-1).mean(dim=-1)


@puzzle_4.mistake(
    "The axes of your result are swapped: (H, B).",
    why="The order of the letters behind the arrow is the order of the axes.",
    hint="What comes first everywhere in the course?",
)
def heads_before_sentences(weights: Tensor) -> Tensor:
    return torch.einsum("bhss->hb", weights)


# --- 05.puzzle_5: three inputs -------------------------------------------------------------------


def _mixed(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,h->bqe", weights, value, share)


puzzle_5 = Item(
    "05.puzzle_5",
    reference=_mixed,
    probes=_probes(
        "each head mixes the values by its weights, and counts by its share",
        unlike=[(2, 3, 4, 5), (2, 5, 6), (3,)],
        alike=[(3, 3, 3, 3), (3, 3, 3), (3,)],
        lone=[(1, 1, 3, 1), (1, 1, 2), (1,)],
    ),
    tolerance=1e-4,
    hints=(
        "Say it as loops: for every sentence, reader and number, add up over ... and over ...",
        "Keys go in step in weights and values, heads in weights and shares. Both are summed over.",
        '"bhqk,b..,.->bqe"',
    ),
)


@puzzle_5.mistake(
    "All heads count alike in your result: the shares are not used.",
    why="A head with the share 0 should leave no trace.",
    hint="Einsum takes as many inputs as you like, with a comma before each.",
)
def shares_unused(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke->bqe", weights, value)


@puzzle_5.mistake(
    "Every head counts by the sum of all shares.",
    why="The shares have a letter of their own, which meets nothing: it is summed over alone.",
    hint="Look for a letter that stands in one input only, and not on the right.",
)
def lonely_shares(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,g->bqe", weights, value, share)


@puzzle_5.mistake(
    "Your weights never meet the values: each is added up alone.",
    why="The keys have one letter in the weights and another in the values. Every reader takes "
    "home the plain sum of all values.",
    hint="One axis, one letter: which axis has two in yours?",
)
def lonely_values(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bve,h->bqe", weights, value, share)


@puzzle_5.mistake(
    "Your heads are kept apart: (B, H, Q, E).",
    why="h stands behind the arrow. Asked for is one context for each reader, over all heads.",
    hint="Which letter has to be missing on the right?",
)
def heads_kept(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,bke,h->bhqe", weights, value, share)


@puzzle_5.mistake(
    "Every sentence takes the values of all sentences, added up.",
    why="Two letters for the batch are two loops, and the one that is missing on the right is "
    "summed over.",
    hint="How many letters do the sentences have in your string?",
)
def values_of_all_sentences(weights: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.einsum("bhqk,ake,h->bqe", weights, value, share)
