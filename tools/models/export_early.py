"""Train the decoding lesson's translators that stopped early, one for each seed; store them.

    python -m tools.models.export_early  # a minute or two; writes assets/early-SEED.safetensors

They are stored because a short training ends elsewhere on another processor: lessons would show
other numbers on each machine.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from course_lib.decoding import Translator
from course_lib.training import RunOptions, load_recipe, load_training_data, load_translator, train
from course_lib.training.runs.checkpoint import EARLY, save_checkpoint

STEPS = 300
GRID = 2**-9  # stored weights are its multiples: as 16-bit numbers, a wheel compresses them to 60 %
SETTINGS: dict[str, Any] = {
    "train_size": 12_000,
    "batch_tokens": 512,
    "warmup": 50,
    "epochs": 1,
    "valid_size": 0,
}


def train_early(seed: int) -> Translator:
    """A translator like the pretrained one, with its vocabularies, after so few steps."""
    recipe, pretrained = replace(load_recipe("small"), **SETTINGS), load_translator()
    data = replace(
        load_training_data(recipe),
        source_vocabulary=pretrained.source_vocabulary,
        target_vocabulary=pretrained.target_vocabulary,
    )
    return train(recipe, RunOptions(seed=seed, max_steps=STEPS), data=data).translator


def round_weights(translator: Translator) -> Translator:
    """The same translator, each of its weights rounded to the nearest multiple of ``GRID``."""
    with torch.no_grad():
        for weights in translator.model.parameters():
            weights.copy_((weights / GRID).round() * GRID)
    return translator


def export(paths: Sequence[Path] = EARLY) -> None:
    """Train and store a translator for each path, rounded; a path's index is its seed."""
    for seed, path in enumerate(paths):
        info = {"recipe": {"name": "small", **SETTINGS}, "seed": seed, "step": STEPS}
        translator = round_weights(train_early(seed))
        save_checkpoint(path, translator, info=info, bits=16)
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and store them."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.models.export_early",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    torch.set_num_threads(1)
    os.environ.setdefault("COURSE_QUIET", "1")
    export()
    return 0


if __name__ == "__main__":
    sys.exit(main())
