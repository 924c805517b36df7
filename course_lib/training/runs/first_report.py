"""What ``course train`` prints of a corpus before it trains."""

from __future__ import annotations

from collections.abc import Iterator

from course_lib.data import visible
from course_lib.errors import shortened
from course_lib.training.data.training_data import TrainingData
from course_lib.training.recipes import Recipe

MEMORISABLE = 20  # a corpus of at most so many pairs is there to be memorised
HELD_OUT = ("test", "valid")  # the splits to test on, best first
LONGEST_MEAN = 12  # characters of a word and its space, on average over a line


def describe(recipe: Recipe, data: TrainingData, *, own: bool) -> Iterator[str]:
    """What to know of a corpus before training, line by line; more of files of one's ``own``."""
    corpus = data.corpus
    if own:
        first = data.train[0]
        source, target = shortened(first.source_text), shortened(first.target_text)
        yield (
            f"The first pair, {corpus.source_language} to {corpus.target_language}: "
            f"{source} → {target}"
        )
    if not set(HELD_OUT) & set(corpus.splits) and (own or len(data.train) > MEMORISABLE):
        yield (
            f"{corpus.name} has no held-out split, so there is no honest test: give sentences that "
            "are not trained on with --valid."
        )
    if recipe.tokens == "words" and not recipe.tokenizer:
        first_pairs = data.train[:1000]
        sides = [
            side
            for side in ("source", "target")
            if sum(_has_no_spaces(getattr(pair, f"{side}_text")) for pair in first_pairs) * 2
            > len(first_pairs)
        ]
        if sides:
            yield (
                f"Most {' and '.join(sides)} lines are one word between spaces: if the language is "
                "written without them (Chinese, Japanese, Thai …), train on subwords: "
                "--set tokens=bpe"
            )


def _has_no_spaces(text: str) -> bool:
    """Whether there are fewer spaces than in languages that part words by them."""
    words = visible(text).split()
    return len(words) == 1 or len(text) > LONGEST_MEAN * len(words)
