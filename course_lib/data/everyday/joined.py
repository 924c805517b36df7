"""Two short sentences as one: Tatoeba's are so short that a model would learn to stop early."""

from __future__ import annotations

import random
from collections.abc import Sequence

from course_lib.data.pairs import TextPair

CONJUNCTIONS = (("und", "and"), (", aber", ", but"), (", denn", ", because"))
# First words that are written small within a sentence, in both languages.
_GERMAN = {*"ich du er sie es wir ihr das der die mein meine dein deine sein seine".split()}
_ENGLISH = {*"i he she it we they you that this the my your his her there".split()}


def joined_pairs(pairs: Sequence[TextPair], size: int, *, seed: int = 0) -> list[TextPair]:
    """Statements at random, two and two, joined by a conjunction that keeps their word order.

    Args:
        pairs: German and English.
        size: how many joined pairs.
        seed: of the choice.
    """
    usable = [pair for pair in pairs if _is_statement(pair)]
    rng = random.Random(seed)
    joined = []
    for _ in range(size if len(usable) > 1 else 0):
        first, second = rng.sample(usable, 2)
        german, english = rng.choice(CONJUNCTIONS)
        joined.append(
            TextPair(
                f"{_joint(first.source_text, german)} {_small(second.source_text)}",
                f"{_joint(first.target_text, english)} {_small(second.target_text)}",
            )
        )
    return joined


def _is_statement(pair: TextPair) -> bool:
    firsts = (text.split(" ", 1)[0].lower() for text in pair)
    return (
        all(text.endswith(".") and "." not in text[:-1] for text in pair)
        and next(firsts) in _GERMAN
        and next(firsts) in _ENGLISH
    )


def _joint(text: str, conjunction: str) -> str:
    comma = conjunction.startswith(",")
    return text[:-1] + ("" if comma else " ") + conjunction


def _small(text: str) -> str:
    return text if text.startswith("I ") else text[:1].lower() + text[1:]
