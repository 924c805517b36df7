"""What tells German from English before anything is translated, measured on the training pairs.

A model translates whatever it is given. To say that a text is English, or that it has signs which
the model has never read, one number for each token and the characters of the sources are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.data import Tokenizer, visible
from course_lib.errors import not_one_text


def language_evidence(
    vocabulary: Tokenizer, sources: Sequence[str], targets: Sequence[str]
) -> Float[Tensor, " vocab"]:
    """For each token log p(token | source language) - log p(token | target language), in nats.

    The sum over a sentence's tokens is positive if the source language explains it better. One is
    added to each count, so that a token which only one side has gives a finite number.

    Args:
        vocabulary: shared by both languages.
        sources, targets: the texts of the training pairs.
    """
    source, target = (_token_counts(vocabulary, texts) + 1 for texts in (sources, targets))
    return ((source / source.sum()).log() - (target / target.sum()).log()).float()


def _token_counts(vocabulary: Tokenizer, texts: Sequence[str]) -> Float[Tensor, " vocab"]:
    ids = [i for row in vocabulary.encode_texts(texts) for i in row]
    return torch.bincount(torch.tensor(ids, dtype=torch.long), minlength=len(vocabulary)).double()


def known_characters(sources: Iterable[str]) -> str:
    """The characters that occur in the sources, white space aside, in the order of Unicode."""
    characters = {c for text in not_one_text(sources, "texts") for c in visible(text)}
    return "".join(sorted(c for c in characters if not c.isspace()))
