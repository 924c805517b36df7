"""Honest numbers: what is measured under teacher forcing, and what on decoded translations.

B batch, T target length, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import sacrebleu
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.data import split_words
from course_lib.errors import not_one_text


def masked_accuracy(
    logits: Float[Tensor, "batch target vocab"], labels: Int[Tensor, "batch target"], pad_id: int
) -> float:
    """Share of real tokens whose most probable prediction is right, under teacher forcing.

    Each prediction starts from the *right* prefix, so this flatters a model (exposure bias).
    """
    real = labels != pad_id
    right = (logits.argmax(dim=-1) == labels) & real
    return float(right.sum() / real.sum().clamp(min=1))


def is_exact_match(translation: str, reference: str) -> bool:
    """Whether both have the same words and punctuation marks in the same order.

    Capitals and spaces make no difference: a model whose vocabulary has no capitals can't write
    them, and would never match.
    """
    return split_words(translation) == split_words(reference)


@dataclass(frozen=True, kw_only=True)
class TranslationScores:
    """Scores of translations that the model decoded by itself.

    ``exact`` is the share of exact matches, as ``is_exact_match`` finds them; ``bleu`` and ``chrf``
    are sacrebleu's corpus scores from 0 to 100; ``signature`` says how BLEU was counted.
    """

    exact: float
    bleu: float
    chrf: float
    signature: str


def translation_scores(hypotheses: Sequence[str], references: Sequence[str]) -> TranslationScores:
    """Score translations against one reference each.

    Raises:
        ValueError: the lists differ in length or are empty; a CourseError if one is a single text.
    """
    for texts in (hypotheses, references):
        not_one_text(texts, "texts")
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(
            "scores need as many translations as references, and at least one, got "
            f"{len(hypotheses)} and {len(references)}"
        )
    same = [is_exact_match(*both) for both in zip(hypotheses, references, strict=True)]
    bleu = sacrebleu.BLEU()
    return TranslationScores(
        exact=sum(same) / len(same),
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        chrf=sacrebleu.CHRF().corpus_score(hypotheses, [references]).score,
        signature=str(bleu.get_signature()),
    )
