"""Two bugs of lesson 14 at the two ends of a model: pairs that slip, a word for all sentences.

B batch, T target length, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe

# --- 14.bug_1 ------------------------------------------------------------------------------------

NEXT = """\
def say_next(logits, said):
    places = logits.flatten(0, 1)
    last = places[-1:]
    token = last.argmax(dim=-1, keepdim=True)
    token = token.expand(said.size(0), 1)
    return torch.cat((said, token), dim=1)
"""


def _say_next(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[:, -1], said)


def _with_best(chosen: Tensor, said: Tensor) -> Tensor:
    """What was said, (B, T), and the best word of these logits, (B, V) or (1, V)."""
    token = chosen.argmax(dim=-1, keepdim=True)
    return torch.cat((said, token.expand(said.size(0), 1)), dim=1)


def _step(draw: Draw, batch: int, length: int, about: str, *, words: int = 30) -> Call:
    """Logits (B, T, V) in which no two places have the same best word, and what was said."""
    best = torch.randperm(words, generator=draw.generator)[: batch * length].view(batch, length)
    logits = draw.normal(batch, length, words)
    logits = logits.scatter(-1, best[..., None], logits.amax(dim=-1, keepdim=True) + 0.5)
    return Call((logits, draw.ids(batch, length)), about=about)


last_of_all_sentences = Item(
    "14.bug_1",
    reference=_say_next,
    bug=Bug(NEXT, line=3),
    probes=[
        Probe(
            "each sentence gets a word of its own",
            lambda draw: [
                _step(draw, 3, 5, "three sentences of five words"),
                _step(draw, 4, 2, "four sentences of two words"),
            ],
        ),
        Probe(
            "the word is that of the last place",
            lambda draw: [
                _step(draw, 1, 6, "one sentence alone"),
                _step(draw, 2, 9, "two sentences of nine words"),
            ],
        ),
        Probe(
            "as many sentences as words, or one word each",
            lambda draw: [
                _step(draw, 4, 4, "four sentences of four words"),
                _step(draw, 5, 1, "the first word of five sentences"),
                _step(draw, 1, 1, "the first word of one sentence"),
            ],
        ),
    ],
    hints=(
        "Say for each line which shape comes out of it, for one sentence, and then for three.",
        "After line 2 the places of all sentences stand one after the other. Which of them are "
        "the last of a sentence?",
        "places[said.size(1) - 1 :: ...], or straight from logits, which still has its batch.",
    ),
)


@last_of_all_sentences.mistake(
    "All sentences still get the same word, that of the last sentence.",
    why="With one sentence it is right, and it was never tried with two. expand makes the shape "
    "fit, so no error tells.",
    hint="How many rows does `last` have, and how many should it have?",
)
def one_word_for_all(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[-1:, -1], said)


@last_of_all_sentences.mistake(
    "You take the last rows of `places`, as many as there are sentences: all but the last of these "
    "are the wrong ones.",
    why="After flatten, sentence by sentence, the last places of the sentences are not neighbours.",
    hint="How far apart in `places` are the ends of two sentences?",
)
def the_last_rows(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits.flatten(0, 1)[-said.size(0) :], said)


@last_of_all_sentences.mistake(
    "You take the first place of each sentence.",
    why="What the first place says is the first word, and that was said long ago.",
    hint="Every T-th row is right. Starting with which?",
)
def the_first_places(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[:, 0], said)


@last_of_all_sentences.mistake(
    "You take the last place but one of each sentence.",
    why="Its word is the last that was said already, so the model would stutter.",
    hint="Count the rows from 0.",
)
def last_but_one(logits: Tensor, said: Tensor) -> Tensor:
    return _with_best(logits[:, max(logits.size(1) - 2, 0)], said)


@last_of_all_sentences.mistake(
    "The new word stands in front of the others.",
    why="The model reads what was said from left to right: the new word goes to the end.",
    hint="Line 6 was right as it was.",
)
def put_in_front(logits: Tensor, said: Tensor) -> Tensor:
    return torch.cat((logits[:, -1].argmax(dim=-1, keepdim=True), said), dim=1)


@last_of_all_sentences.mistake(
    "You return the new words alone.",
    why="The next step needs all that was said so far, (B, T + 1).",
    hint="Line 6 was right as it was.",
)
def only_the_new_words(logits: Tensor, said: Tensor) -> Tensor:
    return logits[:, -1].argmax(dim=-1, keepdim=True)


# --- 14.bug_3 ------------------------------------------------------------------------------------

LINES = """\
def read_pairs(source_text, target_text):
    sides = [source_text.splitlines(), target_text.splitlines()]
    sides = [[line.strip() for line in side] for side in sides]
    sides = [[line for line in side if line] for side in sides]
    return list(zip(*sides))
"""
Pairs = list[tuple[str, str]]


def _stripped(source_text: str, target_text: str) -> Pairs:
    sides = [source_text.splitlines(), target_text.splitlines()]
    return [(source.strip(), target.strip()) for source, target in zip(*sides, strict=True)]


def _read_pairs(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if all(pair)]


def _texts(
    draw: Draw,
    length: int,
    *,
    source: Collection[int] = (),
    target: Collection[int] = (),
    blank: str = "",
    about: str,
) -> Call:
    """Two texts of so many lines, in which these are blank."""
    sides = []
    for language, holes in (("de", source), ("en", target)):
        lines = [f"{language} {i} {draw.integer(100, 999)}" for i in range(length)]
        sides.append("\n".join(blank if i in holes else line for i, line in enumerate(lines)))
    return Call(tuple(side + "\n" for side in sides), about=about)


def _blank_on_one_side(draw: Draw) -> list[Call]:
    return [
        _texts(draw, 6, source=[2], about="a blank line in the source"),
        _texts(draw, 5, target=[1, 3], about="two blank lines in the target"),
        _texts(draw, 7, source=[1], target=[4], about="one blank line in each, not the same"),
    ]


def _blank_on_both(draw: Draw) -> list[Call]:
    return [
        _texts(draw, 5, source=[2], target=[2], about="the same line is blank in both"),
        _texts(draw, 6, source=[0, 3, 5], target=[0, 4], about="the first and the last line"),
        _texts(draw, 3, source=[0, 1], target=[1, 2], about="nothing is left"),
    ]


lines_that_slip = Item(
    "14.bug_3",
    reference=_read_pairs,
    bug=Bug(LINES, line=4),
    probes=[
        Probe("a line keeps its translation", _blank_on_one_side),
        Probe("a pair without one of its sides is no pair", _blank_on_both),
        Probe(
            "spaces alone are blank, too",
            lambda draw: [
                _texts(draw, 5, source=[1], blank="   ", about="a source line of spaces"),
                _texts(draw, 5, target=[3], blank=" \t ", about="a target line of spaces and tab"),
            ],
        ),
        Probe(
            "where nothing is blank nothing is lost",
            lambda draw: [
                _texts(draw, 4, about="no blank line"),
                _texts(draw, 1, about="a single pair"),
                Call(("  ein Satz \n", "\ta sentence\n"), about="spaces around the sentences"),
                Call(("ja\nja\nnein", "yes\nyes\nno"), about="the same pair twice"),
            ],
        ),
    ],
    hints=(
        "Take three lines on each side, with the second line of one side blank. Which pairs come "
        "out?",
        "Each side drops its own blank lines. After the first of them, who is whose translation? "
        "The program does not fail, because zip stops with the shorter side.",
        "Pair first, then drop: [pair for pair in zip(*sides) if ...]",
    ),
)


@lines_that_slip.mistake(
    "Each side still drops its own blank lines: below the first of them all lines have slipped.",
    why="zip stops with the shorter side and says nothing. The model is then taught that sentences "
    "mean what their neighbours mean.",
    hint="What must be true of both sides together before a line may go?",
)
def each_side_by_itself(source_text: str, target_text: str) -> Pairs:
    pairs = _stripped(source_text, target_text)
    sides = [[line for line in side if line] for side in zip(*pairs, strict=True)]
    return list(zip(*sides, strict=False))


@lines_that_slip.mistake(
    "No line slips any more, but blank ones stay: some pairs have nothing on one side.",
    why="The model would learn to answer nothing with a sentence, and a sentence with nothing.",
    hint="Line 4 was wrong in how it drops, not that it drops.",
)
def blanks_stay(source_text: str, target_text: str) -> Pairs:
    return _stripped(source_text, target_text)


@lines_that_slip.mistake(
    "A pair goes only if both its sides are blank.",
    why="Half a pair teaches nothing: a question without an answer, or the other way round.",
    hint="Which sides does a pair need, so that it may stay?",
)
def only_if_both_are_blank(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if any(pair)]


@lines_that_slip.mistake(
    "You look only at the source: a blank translation stays.",
    why="A sentence translated by nothing teaches a model to fall silent.",
    hint="Either side may be blank.",
)
def only_the_source_is_looked_at(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if pair[0]]


@lines_that_slip.mistake(
    "You look only at the target: a blank source stays.",
    why="A model that is given nothing and must say something learns to invent.",
    hint="Either side may be blank.",
)
def only_the_target_is_looked_at(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if pair[1]]


@lines_that_slip.mistake(
    "Reading ends at the first blank line.",
    why="All the pairs below it are lost, and nobody is told how many there were.",
    hint="One pair is to be left out. What happens to the next one in your code?",
)
def ends_at_the_first_blank(source_text: str, target_text: str) -> Pairs:
    pairs = _stripped(source_text, target_text)
    first = next((i for i, pair in enumerate(pairs) if not all(pair)), len(pairs))
    return pairs[:first]
