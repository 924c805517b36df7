"""What the exports of pretrained translators share: from a run to a file, a card, and scores."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sacrebleu

from course_lib.data import Pair
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.training.evaluation import translate_sources
from course_lib.training.metrics import TranslationScores, translation_scores
from course_lib.training.models import count_parameters
from course_lib.training.runs.checkpoint import read_checkpoint, save_checkpoint
from course_lib.training.runs.run_files import weights_of_run

RESAMPLES = 1000  # of the sentences, for the standard errors of BLEU and chrF


def read_run(run: Path) -> tuple[Translator, dict[str, Any]]:
    """The translator that the run's recipe keeps, and what its checkpoint says of the run.

    Raises:
        CourseError: there is no such run.
    """
    translator, info, _ = read_checkpoint(weights_of_run(run))
    return translator, info


def store(
    path: Path, translator: Translator, info: dict[str, Any], *, bits: Literal[8, 16]
) -> None:
    """Store what a reader of a pretrained translator needs of a run's translator."""
    kept = {name: info[name] for name in ("recipe", "seed", "step")}
    save_checkpoint(path, translator, info=kept, bits=bits)


def facts(translator: Translator, info: dict[str, Any]) -> dict[str, Any]:
    """What a card says of a run, by the names that its template has."""
    recipe = info["recipe"]
    minutes = info["minutes"]
    length = "" if minutes is None else f" --minutes {minutes:g}"
    return {
        "command": f"course train {recipe['name']} --seed {info['seed']}{length}",
        "preset": recipe["preset"],
        "parameters": count_parameters(translator.model.config),
        "corpus": recipe["corpus"],
        "steps": info["step"] if info["total_steps"] is None else info["total_steps"],
        "precision": info["precision"],
        "epochs": recipe["epochs"],
        "batch_tokens": recipe["batch_tokens"],
        "source_words": len(translator.source_vocabulary),
        "target_words": len(translator.target_vocabulary),
    }


@dataclass(frozen=True, kw_only=True)
class ScoresWithErrors:
    """Scores and two standard errors of each: of ``exact`` binomial, of the others by bootstrap."""

    scores: TranslationScores
    exact: float
    bleu: float
    chrf: float

    def row(self) -> str:
        """Three cells of a table."""
        return (
            f"{self.scores.exact:.1%} ± {100 * self.exact:.1f} | "
            f"{self.scores.bleu:.1f} ± {self.bleu:.1f} | {self.scores.chrf:.1f} ± {self.chrf:.1f}"
        )


def score(hypotheses: Sequence[str], references: Sequence[str]) -> ScoresWithErrors:
    """Scores of translations, with two standard errors."""
    scores = translation_scores(hypotheses, references)
    return ScoresWithErrors(
        scores=scores,
        exact=2 * math.sqrt(scores.exact * (1 - scores.exact) / len(references)),
        bleu=_two_errors(sacrebleu.BLEU(), hypotheses, references),
        chrf=_two_errors(sacrebleu.CHRF(), hypotheses, references),
    )


def _two_errors(
    metric: sacrebleu.BLEU | sacrebleu.CHRF, hypotheses: Sequence[str], references: Sequence[str]
) -> float:
    """Two standard deviations of the score of sentences drawn again, with replacement."""
    # The interval that sacrebleu itself offers fails where a draw has no match at all.
    counts = np.array(metric._extract_corpus_statistics(hypotheses, [references]))
    draws = np.random.default_rng(0).integers(len(counts), size=(RESAMPLES, len(counts)))
    scores = [metric._compute_score_from_stats(counts[draw].sum(axis=0)).score for draw in draws]
    return 2 * float(np.std(scores))


def translate(translator: Translator, pairs: Sequence[Pair]) -> list[str]:
    """The greedy translation of each pair's source."""
    return [str(translation) for translation in translate_sources(translator, pairs)]


def run_export(
    export: Callable[[Path], str],
    arguments: Sequence[str] | None,
    *,
    module: str,
    description: str | None,
) -> int:
    """Export the run named on the command line and print the card; 1 if that fails."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    try:
        print(export(parser.parse_args(arguments).run))
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
