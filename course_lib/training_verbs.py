"""``course recipes``, ``course train`` and ``course plot``: the verbs of training.

They stand beside the package ``training`` and not in it, since it loads PyTorch, and ``course train
--help`` should not wait for that: what a verb needs is imported when it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from course_lib.arguments import option
from course_lib.errors import CourseError
from course_lib.run_options import RunOptions
from course_lib.terminal import say

if TYPE_CHECKING:
    from course_lib.data import Corpus
    from course_lib.training import Recipe


@dataclass(frozen=True, kw_only=True)
class RecipesOptions:
    """Which recipe to show."""

    recipe: str = option(
        "all fields of this one (default: a list of all recipes and corpora)",
        default="",
        metavar="RECIPE",
        positional=True,
    )


def run_recipes(options: RecipesOptions) -> int:
    """List the recipes and the corpora, or the fields of one recipe with their values."""
    from course_lib.data import corpus_summaries
    from course_lib.training import RECIPES, load_recipe
    from course_lib.training.recipe_settings import format_setting, list_settings

    if options.recipe:
        recipe = load_recipe(options.recipe)
        say(f"{recipe.name}: {recipe.summary}", "")
        for name, value in list_settings(recipe):
            say(f"  {name:<32}{format_setting(value)}")
        say("", f"Change any of them: course train {recipe.name} --set lr=1e-3")
        return 0
    say("Recipes, for course train RECIPE:")
    for recipe in RECIPES.values():
        say(f"  {recipe.name:<20}{recipe.summary}")
    say("", "Corpora, for course train RECIPE --corpus NAME:")
    for name, summary in corpus_summaries().items():
        say(f"  {name:<20}{summary}")
    return 0


# What suits the machine, where the library itself trains on a CPU, the same everywhere.
ON_THIS_MACHINE = RunOptions(device="auto", precision="auto")


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What to train, on what, for how long, and where to put it.

    Raises:
        CourseError: held-out files or columns are named without files to train on.
    """

    recipe: str = option(
        "naive_mt, fastai_qa, fastestimator_ted, einsum_scratch, wmt14_de_en, small, mine, "
        "prefix, modern, multi30k, everyday",
        metavar="RECIPE",
        positional=True,
    )
    settings: tuple[str, ...] = option(
        "change a field of the recipe or, as model.NAME, of its model; may be repeated "
        "(`course recipes RECIPE` lists them)",
        default=(),
        metavar="NAME=VALUE",
        flag="--set",
        many="repeat",
    )
    variant: Literal["fixed", "as_released"] = option(
        "with the bugs of the published system fixed (default), or as it was released",
        default="fixed",
    )
    corpus: str | None = option(
        "train on another corpus than the recipe's own (`course recipes` lists them)",
        default=None,
        metavar="NAME",
        exclusive="data",
    )
    train: tuple[Path, ...] = option(
        "your own: source and target, one sentence per line; or one table or JSON file with both "
        "(.txt, .tsv, .csv, .jsonl; each may be .gz or .zip)",
        default=(),
        metavar="FILE",
        many="+",
        exclusive="data",
    )
    valid: tuple[Path, ...] = option(
        "held-out files of the same kind (default: none, and no scores)",
        default=(),
        metavar="FILE",
        many="+",
    )
    columns: str | None = option(
        "of one file with both sides: which are source and target, by number or name, such as 2,1 "
        "or de,en (default: the two that hold text)",
        default=None,
        metavar="S,T",
    )
    limit: int | None = option("only the first N training pairs", default=None, metavar="N")
    epochs: int | None = option(
        "passes over the training pairs (default: as many as the recipe says)",
        default=None,
        metavar="E",
        exclusive="length",
    )
    run: RunOptions = ON_THIS_MACHINE
    out: Path | None = option(
        "the run's folder (default: runs/RECIPE-seedS)", default=None, metavar="DIR"
    )

    def __post_init__(self) -> None:
        if self.valid and not self.train:
            raise CourseError(
                "--valid names held-out files, but --train was not given: add --train"
            )
        if self.columns and not self.train:
            raise CourseError(
                "--columns names columns of your files, but --train was not given: add --train"
            )


def run_train(options: TrainOptions) -> int:
    """Train by a recipe and report; 130 if Ctrl-C stopped it."""
    from course_lib.training.command import train_and_report

    recipe, corpus = _recipe_and_corpus(options)
    name = recipe.name if options.variant == "fixed" else f"{recipe.name}-{options.variant}"
    folder = options.out or Path("runs") / f"{name}-seed{options.run.seed}"
    own, run = None, options.run
    if recipe.name == "mine":
        from course_lib.mine.chain import default_run
        from course_lib.mine.join import refuse_what_a_step_does_not_use
        from course_lib.mine.verbs import own_training

        refuse_what_a_step_does_not_use(recipe, run)
        run = replace(run, precision="fp32")  # "auto" might round, and an own step does not
        folder = options.out or default_run(options.run.seed) or folder
        own = own_training(folder)
    finished = train_and_report(recipe, run, folder=folder, corpus=corpus, make_training=own)
    return 0 if finished else 130


def _recipe_and_corpus(options: TrainOptions) -> tuple[Recipe, Corpus | None]:
    """The recipe with all that the options change, and the corpus if it is the user's own."""
    from course_lib.data import file_corpus
    from course_lib.training import load_recipe, with_corpus
    from course_lib.training.recipe_settings import with_settings

    recipe = load_recipe(options.recipe, variant=options.variant)
    corpus = None
    if options.train:
        corpus = file_corpus(
            train=options.train, valid=options.valid or None, columns=options.columns
        )
        recipe = replace(recipe, corpus=corpus.name, train_size=None)
        if options.valid:  # a recipe without held-out sentences reads new words now, and validates
            size = recipe.valid_size or 200
            recipe = replace(recipe, unknown_word=True, valid_size=size)
    elif options.corpus:
        recipe = with_corpus(recipe, options.corpus)
    if options.epochs is not None:
        recipe = replace(recipe, epochs=options.epochs)
    if options.limit is not None:
        recipe = replace(recipe, train_size=options.limit)
    return with_settings(recipe, options.settings), corpus


@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """Which runs, and where to put their curves."""

    runs: tuple[Path, ...] = option(
        "the folder of a run, finished or under way; several are compared",
        metavar="RUN",
        positional=True,
        many="+",
    )
    out: Path | None = option(
        "where curves.png and curves.html go (default: the run's folder; of several, here)",
        default=None,
        metavar="DIR",
    )
    open: bool = option("open curves.html in the browser", default=False)


def run_plot(options: PlotOptions) -> int:
    """Draw the curves of runs as a picture and as a page, and say where they are."""
    from course_lib.atomic import replace_atomically, write_atomically
    from course_lib.training.runs.metrics_log import read_metrics_logs
    from course_lib.viz import plot_runs, runs_page
    from course_lib.viz.display import to_png

    logs = read_metrics_logs(options.runs)
    folder = options.out or (options.runs[0] if len(logs) == 1 else Path())
    picture, page = folder / "curves.png", folder / "curves.html"
    write_atomically(page, runs_page(logs))  # finds out whether the folder can be written
    image = to_png(plot_runs(logs, dpi=150))
    replace_atomically(picture, lambda draft: draft.write_bytes(image))
    for log in logs:
        say(f"{log.name}: {log.summary}")
    say(f"Drawn in {picture} and, with values under the pointer, {page}")
    if options.open:
        import webbrowser

        from course_lib.lab import has_browser

        if not has_browser():
            raise CourseError(f"there is no browser here to open {page} with: copy it to one")
        webbrowser.open(page.resolve().as_uri())
    return 0
