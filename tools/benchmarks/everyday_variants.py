"""What helps a translator of everyday German within ten minutes, for docs/training.md.

    python -m tools.benchmarks.everyday_variants --out runs/variants           # four hours
    python -m tools.benchmarks.everyday_variants --out runs/variants --only words tied --seeds 0

Each variant changes the recipe `everyday` and trains on one thread for as many steps as take as
long as ``STEPS`` steps of the recipe: their costs are compared side by side, first. So other work
on the machine changes nothing, and two runs with different variants may share it. What is done is
kept in ``--out``; the same command goes on, and prints the table of all that is there.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch

from course_lib.decoding import Translator
from course_lib.training import (
    Recipe,
    RunOptions,
    TrainingData,
    evaluate,
    load_recipe,
    load_training_data,
    train,
)
from course_lib.training.recipe_settings import with_settings
from course_lib.training.runs.run import Run
from course_lib.training.trainer import Trainer
from tools.benchmarks import rounds
from tools.benchmarks.rounds import table, take_rounds

STEPS = 2000  # of the recipe: eight minutes of one core without AVX-512 or bfloat16
TURN = 20  # steps that are timed at once
SEEDS = (0, 1, 2)
AVERAGED = 5  # checkpoints, of the last fifth of the training

VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "recipe": ("the recipe", ()),
    "words": ("words instead of subwords: all of them", ("tokens=words",)),
    "separate": ("a vocabulary for each language", ("shared_vocabulary=false",)),
    "fewer_subwords": ("1,800 subwords", ("vocab_size=1800",)),
    "more_subwords": ("7,200 subwords", ("vocab_size=7200",)),
    "tied": ("one table for embeddings and output", ("model.tying=all",)),
    "deeper": (
        "5 layers of width 128",
        ("model.n_layers=5", "model.d_model=128", "model.d_ff=512"),
    ),
    "wider": (
        "2 layers of width 192",
        ("model.n_layers=2", "model.d_model=192", "model.d_ff=768"),
    ),
    "no_dropout": ("no dropout", ("dropout=0.0",)),
    "no_smoothing": ("no label smoothing", ("label_smoothing=0.0",)),
    "constant": ("a constant rate, 0.0007", ("schedule=constant", "lr=0.0007")),
}
# From the training of the variant before the underscore, whose checkpoints are kept.
AVERAGES = {
    f"{variant}_averaged": f"{VARIANTS[variant][0]}, mean of {AVERAGED} checkpoints"
    for variant in ("recipe", "constant")
}


def recipe_of(variant: str) -> Recipe:
    """The recipe with the variant's changes; not validated while it trains."""
    changed = with_settings(load_recipe("everyday"), VARIANTS[variant][1])
    return with_settings(changed, ["valid_every=1000000"])


def cost(variant: str, data: TrainingData, usual: TrainingData) -> float:
    """How many times as long a step of the variant takes as one of the recipe."""

    def turn(recipe: Recipe, data: TrainingData) -> Any:
        trainer = Trainer(recipe, data, RunOptions(max_steps=10**6, precision="auto"))
        batches = trainer.remaining_batches()

        def steps() -> float:
            for _ in range(TURN):
                trainer.step(*next(batches))
            return TURN

        return steps

    turns = {"recipe": turn(recipe_of("recipe"), usual), variant: turn(recipe_of(variant), data)}
    seconds = take_rounds(turns, minutes=0.5, name=variant)
    return median(rounds.ratios(seconds, variant, "recipe"))


def trained(
    variant: str, data: TrainingData, *, steps: int, seed: int
) -> Iterator[tuple[str, Translator]]:
    """The variant's translator after so many steps, then the average of its checkpoints."""
    kept: list[dict[str, torch.Tensor]] = []

    def keep(run: Run) -> None:
        since_end = steps - run.step
        if since_end < steps // 5 and since_end % (steps // (5 * AVERAGED)) == 0:
            weights = run.translator.model.state_dict()
            kept.append({name: weight.clone() for name, weight in weights.items()})

    options = RunOptions(max_steps=steps, seed=seed, precision="auto", scores=False)
    averages = f"{variant}_averaged" in AVERAGES
    run = train(recipe_of(variant), options, data=data, on_step=keep if averages else None)
    yield variant, run.translator
    if averages:
        mean = {name: torch.stack([w[name] for w in kept]).mean(dim=0) for name in kept[0]}
        run.translator.model.load_state_dict(mean)
        yield f"{variant}_averaged", run.translator


def measure(out: Path, variants: Sequence[str], seeds: Sequence[int]) -> None:
    """Train and test what ``out`` does not have yet; a file for each result."""
    for variant in variants:
        missing = [seed for seed in seeds if not (out / f"{variant}-{seed}.json").exists()]
        if not missing:
            continue
        data = load_training_data(recipe_of(variant))
        ratio = known_cost(out, variant)
        if ratio is None:
            ratio = cost(variant, data, load_training_data(recipe_of("recipe")))
        steps = round(STEPS / ratio)
        for seed in missing:
            for name, translator in trained(variant, data, steps=steps, seed=seed):
                scores = evaluate(translator, data.corpus.pairs("test"))
                result = {"variant": name, "seed": seed, "ratio": ratio, "steps": steps}
                parameters = sum(p.numel() for p in translator.model.parameters())
                result |= {"parameters": parameters, "bleu": scores.bleu, "exact": scores.exact}
                text = json.dumps(result) + "\n"
                (out / f"{name}-{seed}.json").write_text(text, encoding="utf-8")
                print(result, flush=True)


def known_cost(out: Path, variant: str) -> float | None:
    """As measured for another seed: all seeds train for the same number of steps."""
    return next((row["ratio"] for row in results(out) if row["variant"] == variant), None)


def results(out: Path) -> Iterator[dict[str, Any]]:
    """All that has been measured."""
    for path in sorted(out.glob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def table_of(out: Path) -> str:
    """A row for each variant: means over its seeds, and their range."""
    by_variant = defaultdict(list)
    for row in results(out):
        by_variant[row["variant"]].append(row)
    header = ["recipe `everyday`, but", "parameters", "steps", "seeds", "exact match", "BLEU"]
    lines = []
    names = {variant: name for variant, (name, _) in VARIANTS.items()} | AVERAGES
    for variant, rows in sorted(by_variant.items(), key=lambda item: [*names].index(item[0])):
        exact = _mean_and_range([100 * row["exact"] for row in rows], "%")
        bleu = _mean_and_range([row["bleu"] for row in rows], "")
        size = f"{rows[0]['parameters'] / 1e6:.1f} M"
        lines.append([names[variant], size, f"{rows[0]['steps']:,}", str(len(rows)), exact, bleu])
    return table(header, lines)


def _mean_and_range(numbers: Sequence[float], unit: str) -> str:
    return f"{fmean(numbers):.1f}{unit} ({min(numbers):.1f}–{max(numbers):.1f})"


def main(arguments: list[str] | None = None) -> None:
    """Measure the variants named on the command line, or all, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.benchmarks.everyday_variants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="a folder for what is measured")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=[*VARIANTS])
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    measure(options.out, options.only, options.seeds)
    print(table_of(options.out))


if __name__ == "__main__":
    main()
