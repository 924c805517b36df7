"""Train the training lesson's translator, look at it now and then, and store what was seen.

    python -m tools.models.export_learning  # five minutes or so; writes assets/learning.json

For a film that a lesson shows before its own training has begun: at a few steps of one run, what
the model writes for some sentences, and the cross-attention for the last of them.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from course_lib.data import BOS
from course_lib.decoding import Translator, evaluating
from course_lib.model import record_attention
from course_lib.training import Recipe, Run, RunOptions, load_recipe, load_training_data, train
from course_lib.viz.drawings.learning.learning_film import LEARNING

STEPS = (1, 50, 200)  # and after the last one
PAIRS = (
    (
        "der hund schläft im garten , weil er müde ist .",
        "the dog sleeps in the garden because it is tired .",
    ),
    ("den kuchen isst der alte könig .", "the old king eats the cake ."),
    ("die alte köchin hat gestern den tee getrunken .", "the old cook drank the tea yesterday ."),
)


def lesson_recipe() -> Recipe:
    """The recipe of the training lesson."""
    return replace(load_recipe("small"), train_size=70_000, warmup=150, weight_decay=0.1)


def look(translator: Translator, step: int) -> dict[str, Any]:
    """What the model writes, and the mean of the last layer's heads while it is given the last
    reference.
    """
    sources, references = ([side.split() for side in sides] for sides in zip(*PAIRS, strict=True))
    written = [each.target for each in translator.translate_all(sources)]
    source = torch.tensor([translator.source_vocabulary.encode(sources[-1])])
    decoder_input = torch.tensor([translator.target_vocabulary.encode([BOS, *references[-1][:-1]])])
    with evaluating(translator.model), record_attention(translator.model) as record:
        translator.model(source, decoder_input)
    weights = record.cross[-1, 0].mean(dim=0).tolist()  # (targets, sources)
    rounded = [[round(weight, 3) for weight in row] for row in weights]
    return {
        "step": step,
        "translations": [" ".join(words) for words in written],
        "weights": rounded,
    }


def watch(recipe: Recipe, options: RunOptions, steps: Sequence[int] = STEPS) -> dict[str, Any]:
    """Train, and look after each of the steps and at the end."""
    seen: list[dict[str, Any]] = []

    def on_step(run: Run) -> None:
        if run.step in steps:
            seen.append(look(run.translator, run.step))

    run = train(recipe, options, data=load_training_data(recipe), on_step=on_step)
    if seen[-1]["step"] < run.step:
        seen.append(look(run.translator, run.step))
    sources, references = zip(*PAIRS, strict=True)
    return {"sources": sources, "references": references, "snapshots": seen}


def export(found: dict[str, Any], path: Path = LEARNING) -> None:
    """Write what was seen."""
    path.write_text(json.dumps(found, ensure_ascii=False) + "\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, and store what was seen."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.models.export_learning",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    torch.set_num_threads(1)
    os.environ.setdefault("COURSE_QUIET", "1")
    export(watch(lesson_recipe(), RunOptions(seed=0, precision="auto")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
