"""Make the pretrained translator of the course from a run: the weights, and a card that says what
they can do.

    course train small --seed 0 --out runs/small
    python -m course_lib.training.publish runs/small
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from course_lib.atomic import write_atomically
from course_lib.data import load_corpus
from course_lib.errors import CourseError
from course_lib.model import count_parameters
from course_lib.training.checkpoint import (
    PRETRAINED,
    read_checkpoint,
    save_checkpoint,
)
from course_lib.training.evaluation import evaluate, shuffled_source_scores

TESTED = 500  # sentences of each split

CARD = """\
# The course's small translator

German to English, for the sentences of the course's own grammar (`grammar_de_en`).
`course_lib.training.load_translator()` reads it; the lessons do.

| | |
|---|---|
| made by | `course train {recipe} --seed {seed} --out runs/small` |
| and then | `python -m course_lib.training.publish runs/small` |
| model | preset `{preset}`: {parameters:,} parameters, stored as 16-bit floating-point numbers |
| data | {train_size:,} pairs of `{corpus}`, drawn by `course_lib/data/grammar` |
| training | {steps:,} steps, {epochs} epochs, batches of {batch_tokens:,} tokens, in {precision} |
| words | {source_words:,} German, {target_words:,} English, specials included |
| licence | MIT, as the course |

{tested:,} sentences a row, greedy, free-running; BLEU and chrF by sacrebleu ({signature}):

| | exactly right | BLEU | chrF |
|---|---|---|---|
{rows}

**Limits.** It knows the grammar's words and nothing else; another word is read as `<unk>`. Its
sentences are short and tidy, its English is one translation of several that would do. It was made
to be looked into, not to be relied on.
"""


def publish(run: Path, place: Path = PRETRAINED) -> str:
    """Store the run's best weights in 16 bits at ``place``, and the card beside it.

    Returns:
        The card.

    Raises:
        CourseError: there is no such run, or the place cannot be written.
    """
    translator, info, _ = read_checkpoint(run / "best.safetensors")
    recipe = info["recipe"]
    kept = {"recipe": recipe, "seed": info["seed"], "step": info["step"]}
    save_checkpoint(place, translator, info=kept, dtype=torch.float16)
    translator, _, _ = read_checkpoint(place)  # tested as it will be used
    corpus, rows, signature = load_corpus(recipe["corpus"]), [], ""
    for split, title in (("test", "unseen"), ("compositional", "unseen combinations")):
        pairs = corpus.pairs(split, TESTED)
        for name, test in ((title, evaluate), (f"{title}, wrong source", shuffled_source_scores)):
            scores = test(translator, pairs)
            signature = scores.signature
            rows.append(f"| {name} | {scores.exact:.1%} | {scores.bleu:.1f} | {scores.chrf:.1f} |")
    card = CARD.format(
        recipe=recipe["name"],
        seed=info["seed"],
        preset=recipe["preset"],
        parameters=count_parameters(translator.model.config),
        train_size=recipe["train_size"],
        corpus=recipe["corpus"],
        steps=info["total_steps"],
        precision=info["precision"],
        epochs=recipe["epochs"],
        batch_tokens=recipe["batch_tokens"],
        source_words=len(translator.source_vocabulary),
        target_words=len(translator.target_vocabulary),
        tested=TESTED,
        signature=signature,
        rows="\n".join(rows),
    )
    write_atomically(place.with_suffix(".md"), card)
    return card


def main(arguments: list[str] | None = None) -> int:
    """The command of this module."""
    parser = argparse.ArgumentParser(
        prog="python -m course_lib.training.publish",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    try:
        print(publish(parser.parse_args(arguments).run))
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
