"""The ``course`` command: a table of verbs, each a thin function over the library.

What a verb needs is imported when it runs, so that ``course doctor`` works where PyTorch does not.
"""

from __future__ import annotations

import errno
import importlib.metadata
import sys
import textwrap
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.errors import DISTRIBUTION, CourseError
from course_lib.grading import verbs as grading_verbs
from course_lib.terminal import fit_terminal, interruptible_imports, path_argument, stop_printing
from course_lib.threads import spin_less


@dataclass(frozen=True)
class Verb:
    """One ``course VERB``: what it does, how it is called, its arguments, its exit status."""

    help: str
    example: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def add_lab_arguments(parser: ArgumentParser) -> None:
    """Which lesson, at which port, with or without a browser."""
    parser.add_argument(
        "notebook",
        nargs="?",
        default="00",
        metavar="NOTEBOOK",
        help="a lesson by its number, such as 06, or the start of its name, in your own copy of "
        "the course; or the path of any notebook (default: the first lesson)",
    )
    parser.add_argument("--exercise", action="store_true", help="open the lesson's exercise")
    parser.add_argument("--port", type=int, metavar="N", help="the port to try first")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def run_lab(options: Namespace) -> int:
    """Open a lesson in JupyterLab."""
    from course_lib.lab import open_lab

    open_lab(
        options.notebook,
        exercise=options.exercise,
        port=options.port,
        browser=not options.no_browser,
    )
    return 0


SAVE = "Only what is saved is merged: save open notebooks in JupyterLab before an update."
RELOAD = "If it is open in JupyterLab: File, Reload Notebook from Disk."


def add_update_arguments(parser: ArgumentParser) -> None:
    """It takes no arguments."""


def run_update(options: Namespace) -> int:
    """Bring the course's changes into the learner's copy and say what happened."""
    from course_lib.lab import trust, unmodified_notebooks
    from course_lib.work_copy.folders import COURSE, work_folder
    from course_lib.work_copy.update import RELEASE, outdated, update

    trust(unmodified_notebooks(COURSE))
    work = work_folder()
    if (work / RELEASE).is_dir() and outdated(work, COURSE):
        print(SAVE, flush=True)
    changed = update(work, COURSE)
    print("\n".join([*changed, RELOAD] if changed else ["Nothing has changed."]))
    return 0


def add_reset_arguments(parser: ArgumentParser) -> None:
    """What to put back."""
    parser.add_argument(
        "what",
        metavar="ITEM",
        help="an item's id, such as 06.padding_mask, or a notebook in your copy of the course",
    )


def run_reset(options: Namespace) -> int:
    """Put back an answer as it was released and say where the backup is."""
    from course_lib.work_copy.folders import work_folder
    from course_lib.work_copy.update import reset

    print(reset(work_folder(), options.what))
    print(RELOAD)
    return 0


def add_pages_arguments(parser: ArgumentParser) -> None:
    """Which notebooks, and where to put their pages."""
    parser.add_argument(
        "notebooks",
        nargs="*",
        metavar="NOTEBOOK",
        help="lessons by the start of their names, or paths (default: all lessons)",
    )
    parser.add_argument(
        "--output",
        type=path_argument,
        default=Path("pages"),
        metavar="DIR",
        help="where the pages go, one file for each (default: pages)",
    )


def run_pages(options: Namespace) -> int:
    """Write notebooks as pages and say where they are."""
    from course_lib.pages import write_pages

    for path in write_pages(options.notebooks, options.output):
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return 0


def add_doctor_arguments(parser: ArgumentParser) -> None:
    """It takes no arguments."""


def run_doctor(options: Namespace) -> int:
    """Print what is installed; 1 if something required is missing."""
    from course_lib.doctor import examine, report

    findings = examine()
    print(report(findings))
    return 0 if all(finding.fine or not finding.required for finding in findings) else 1


def add_train_arguments(parser: ArgumentParser) -> None:
    """What to train, on what, for how long, and where to put it."""
    parser.add_argument(
        "recipe",
        metavar="RECIPE",
        help="naive_mt, fastai_qa, fastestimator_ted, einsum_scratch, wmt14_de_en, small, multi30k",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="change a field of the recipe or, as model.NAME, of its model; may be repeated "
        "(`course recipes RECIPE` lists them)",
    )
    data = parser.add_mutually_exclusive_group()
    data.add_argument(
        "--corpus",
        metavar="NAME",
        help="train on another corpus than the recipe's own (`course recipes` lists them)",
    )
    data.add_argument(
        "--train",
        nargs="+",
        type=path_argument,
        metavar="FILE",
        help="your own: source and target, one sentence per line; or one .tsv or .jsonl (or .gz)",
    )
    parser.add_argument(
        "--valid",
        nargs="+",
        type=path_argument,
        metavar="FILE",
        help="held-out files of the same kind (default: none, and no scores)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N training pairs")
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--epochs",
        type=int,
        metavar="E",
        help="passes over the training pairs (default: as many as the recipe says)",
    )
    length.add_argument("--max-steps", type=int, metavar="N", help="steps, instead of epochs")
    length.add_argument("--minutes", type=float, metavar="M", help="minutes, instead of epochs")
    parser.add_argument(
        "--variant",
        choices=("fixed", "as_released"),
        default="fixed",
        help="with the bugs of the published system fixed (default), or as it was released",
    )
    parser.add_argument(
        "--out",
        type=path_argument,
        metavar="DIR",
        help="the run's folder (default: runs/RECIPE-seedS)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="seed of weights, dropout and order of batches (default: 0)",
    )
    parser.add_argument(
        "--device",
        default="auto",
        metavar="D",
        help="cpu, cuda, … (default: a GPU if there is one)",
    )
    parser.add_argument(
        "--precision",
        default="auto",
        metavar="P",
        help="fp32, or bf16 where the device supports it (default: bf16 where that is faster)",
    )
    parser.add_argument(
        "--no-scores",
        action="store_true",
        help="translate no held-out sentences: no BLEU, no exact match, but done sooner",
    )
    earlier = parser.add_mutually_exclusive_group()
    earlier.add_argument("--resume", action="store_true", help="go on where the run was stopped")
    earlier.add_argument(
        "--overwrite", action="store_true", help="replace an earlier run in the folder"
    )
    parser.add_argument(
        "--accept-changed-data",
        action="store_true",
        help="with --resume: go on even if the data are no longer the same",
    )


def run_train(options: Namespace) -> int:
    """Train by a recipe and report; 130 if Ctrl-C stopped it."""
    from course_lib.data import file_corpus
    from course_lib.training import RunOptions, load_recipe, on_corpus
    from course_lib.training.command import train_and_report
    from course_lib.training.recipe_settings import with_settings

    recipe = load_recipe(options.recipe, variant=options.variant)
    corpus = None
    if options.train:
        corpus = file_corpus(train=options.train, valid=options.valid)
        recipe = replace(recipe, corpus=corpus.name, train_size=None)
        if options.valid:  # a recipe without held-out sentences reads new words now, and validates
            size = recipe.valid_size or 200
            recipe = replace(recipe, unknown_word=True, valid_size=size)
    elif options.valid:
        raise CourseError("--valid names held-out files, but --train was not given: add --train")
    elif options.corpus:
        recipe = on_corpus(recipe, options.corpus)
    changes = {"epochs": options.epochs, "train_size": options.limit}
    recipe = replace(recipe, **{name: n for name, n in changes.items() if n is not None})
    name = recipe.name if options.variant == "fixed" else f"{recipe.name}-{options.variant}"
    finished = train_and_report(
        with_settings(recipe, options.settings),
        RunOptions(
            seed=options.seed,
            device=options.device,
            precision=options.precision,
            max_steps=options.max_steps,
            minutes=options.minutes,
            resume=options.resume,
            overwrite=options.overwrite,
            accept_changed_data=options.accept_changed_data,
            scores=not options.no_scores,
        ),
        folder=options.out or Path("runs") / f"{name}-seed{options.seed}",
        corpus=corpus,
    )
    return 0 if finished else 130


def add_recipes_arguments(parser: ArgumentParser) -> None:
    """Which recipe to show."""
    parser.add_argument(
        "recipe",
        nargs="?",
        metavar="RECIPE",
        help="all fields of this one (default: a list of all recipes and corpora)",
    )


def run_recipes(options: Namespace) -> int:
    """List the recipes and the corpora, or the fields of one recipe with their values."""
    from course_lib.data import corpus_summaries
    from course_lib.training import RECIPES, load_recipe
    from course_lib.training.recipe_settings import as_text, settings_of

    if options.recipe:
        recipe = load_recipe(options.recipe)
        print(f"{recipe.name}: {recipe.summary}\n")
        for name, value in settings_of(recipe):
            print(f"  {name:<32}{as_text(value)}")
        print(f"\nChange any of them: course train {recipe.name} --set lr=1e-3")
        return 0
    print("Recipes, for course train RECIPE:")
    for recipe in RECIPES.values():
        print(f"  {recipe.name:<20}{recipe.summary}")
    print("\nCorpora, for course train RECIPE --corpus NAME:")
    for name, summary in corpus_summaries().items():
        print(f"  {name:<20}{summary}")
    return 0


def add_translate_arguments(parser: ArgumentParser) -> None:
    """What to translate, and with which run."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="a sentence in quotes")
    parser.add_argument(
        "--run",
        dest="folder",
        type=path_argument,
        metavar="DIR",
        help="the folder of a run, or a checkpoint (default: the course's own German translator)",
    )
    parser.add_argument(
        "--input",
        type=path_argument,
        metavar="FILE",
        help="one sentence per line, plain or .gz (-: standard input)",
    )
    parser.add_argument(
        "--output",
        type=path_argument,
        metavar="FILE",
        help="one translation per line (default: the screen); FILE.part until it is complete",
    )
    parser.add_argument(
        "--beam",
        type=int,
        metavar="W",
        help="beam search with W hypotheses (default: greedy decoding)",
    )


def run_translate(options: Namespace) -> int:
    """Print each sentence's translation on a line, and warn of words that could not be read."""
    from course_lib.data import count_lines, stream_lines
    from course_lib.decoding import Decoding
    from course_lib.decoding.translate_file import translate_lines, warnings_for
    from course_lib.training import load_translator

    if bool(options.text) == bool(options.input):
        raise CourseError("give sentences to translate, or a file with --input: one of the two")
    if options.input and options.output:
        _refuse_to_overwrite(options.input, options.output)
    decoding = Decoding() if options.beam is None else Decoding("beam", width=options.beam)
    translator = load_translator(options.folder, tell=_warn)
    if options.input:
        blocks = translate_lines(
            translator,
            stream_lines(options.input),
            decoding=decoding,
            warn=_warn,
            total=count_lines(options.input) if sys.stderr.isatty() else None,
        )
        _write_blocks(blocks, options.output)
        return 0
    translations = translator.translate_texts(options.text, decoding=decoding)
    for warning in (w for t in translations for w in warnings_for(translator, t)):
        _warn(warning)
    _write_blocks([[str(translation) for translation in translations]], options.output)
    return 0


def _refuse_to_overwrite(source: Path, output: Path) -> None:
    """Refuse to write over the sentences that are translated, at the end or meanwhile."""
    from course_lib.atomic import part_of

    for written in (output, part_of(output)):
        if written.is_file() and source.exists() and written.samefile(source):
            raise CourseError(
                f"expected another file for --output, got {output}: {written} would be written, "
                f"and it is what --input {source} reads"
            )


def _write_blocks(blocks: Iterable[list[str]], output: Path | None) -> None:
    """Write blocks of lines as they come; if something stops them, say how many were written."""
    from course_lib.atomic import grow_atomically, part_of

    done = 0
    with nullcontext(_print) if output is None else grow_atomically(output) as write:
        try:
            for block in blocks:
                write("".join(f"{line}\n" for line in block))
                done += len(block)
        except BrokenPipeError:  # nobody wants to read on
            raise
        except BaseException:
            if done:
                where = f" and are in {part_of(output)}" if output else ""
                _warn(f"the first {done:,} lines are translated{where}")
            raise


def _print(text: str) -> None:
    print(text, end="", flush=True)


def add_translator_arguments(parser: ArgumentParser) -> None:
    """Where to put the page, and whether to open it."""
    parser.add_argument(
        "--output",
        type=path_argument,
        default=Path(),
        metavar="DIR",
        help="where translator.html goes (default: here); one file to copy anywhere",
    )
    parser.add_argument("--no-browser", action="store_true", help="write the page only")


def run_translator(options: Namespace) -> int:
    """Write the course's translator as a page that needs neither Python nor a network; open it."""
    from course_lib.atomic import write_atomically
    from course_lib.data import load_corpus
    from course_lib.lab import has_browser
    from course_lib.training import load_translator
    from course_lib.viz.web.translator_page import translator_page

    translator = load_translator()
    pairs = load_corpus("grammar_de_en").pairs("test", 300)
    page = options.output / "translator.html"
    text = translator_page(
        translator.model,
        translator.source_vocabulary.tokens,
        translator.target_vocabulary.tokens,
        sentences=[(pair.source_text, pair.target_text) for pair in pairs],
    )
    write_atomically(page, text)
    print(f"Written to {page} ({len(text.encode()) / 1e6:.1f} MB, the model included)")
    if not options.no_browser and has_browser():
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    else:
        print("Open it in a browser, on this or any other machine.")
    return 0


def add_progress_arguments(parser: ArgumentParser) -> None:
    """It takes no arguments."""


def run_progress(options: Namespace) -> int:
    """Print which exercises are done and which comes next."""
    from course_lib.checks import Progress

    print(Progress())
    return 0


def add_assign_arguments(parser: ArgumentParser) -> None:
    """How many groups, from which seed, of which assignments, and where to."""
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--seed", metavar="TERM", help="decides who gets what, such as 2027-spring; any text"
    )
    action.add_argument(
        "--list", action="store_true", help="only list which item takes which conventions"
    )
    parser.add_argument("--variants", type=int, default=6, metavar="N", help="groups (default: 6)")
    parser.add_argument(
        "--assignment",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME",
        help="such as 06_masks; may be repeated (default: all)",
    )
    parser.add_argument(
        "--output",
        type=path_argument,
        default=Path("variants"),
        metavar="DIR",
        help="where group_1/NAME, group_2/NAME, … and manifest.json go (default: variants)",
    )
    parser.add_argument(
        "--exercises",
        type=path_argument,
        metavar="DIR",
        help="the public exercises (default: exercises, here or beside the library)",
    )


def run_assign(options: Namespace) -> int:
    """Write a set of exercises for each group, or list conventions."""
    from course_lib.grading.assign_command import AssignOptions, assign_and_report, listing

    if options.list:
        print(listing())
        return 0
    assign_and_report(
        AssignOptions(
            options.seed,
            options.variants,
            options.output,
            options.assignments,
            options.exercises,
        )
    )
    return 0


def add_grade_arguments(parser: ArgumentParser) -> None:
    """Whose work, which assignment, where the results go, and how much is trusted."""
    parser.add_argument(
        "incoming",
        type=path_argument,
        metavar="INCOMING",
        help="a folder with a folder, or a notebook, for each student",
    )
    parser.add_argument("--assignment", required=True, metavar="NAME", help="such as 06_masks")
    parser.add_argument(
        "--results",
        type=path_argument,
        default=Path("results"),
        metavar="DIR",
        help="where NAME/STUDENT.json go (default: results); what is there and unchanged is kept",
    )
    parser.add_argument(
        "--exercises",
        type=path_argument,
        metavar="DIR",
        help="the exercises as released (default: exercises, here or beside the library)",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes at the same time (default: 1)"
    )
    parser.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="grade on the workers of this Dask scheduler, such as tcp://host:8786, in place of "
        "--jobs; they need the same folders, and each grades one submission at a time",
    )
    parser.add_argument(
        "--variants",
        type=path_argument,
        metavar="DIR",
        help="the folder that course assign wrote: each student is graded by their own variant",
    )
    parser.add_argument(
        "--groups",
        type=path_argument,
        metavar="CSV",
        help="lines student,group (default: the group whose stamp is in the notebook)",
    )
    parser.add_argument(
        "--secret-file",
        type=path_argument,
        metavar="F",
        help="decides the test inputs; made if it is not there (default: DIR/secret). "
        "Keep it: with another one everything is graded again",
    )
    parser.add_argument(
        "--diff",
        action="store_true",
        help="show which earlier points would change, and write no results",
    )
    parser.add_argument(
        "--gradebook",
        type=path_argument,
        metavar="DIR",
        help="also put the results into this course folder of nbgrader, to be marked and shown "
        "with its formgrader; made if it is not there. Marks that a person gave stay",
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run the code as your own, with nothing to stop it; needs the next option",
    )
    parser.add_argument(
        "--i-trust-these-submissions", action="store_true", help="say that you know their authors"
    )


def run_grade(options: Namespace) -> int:
    """Grade a class in the jail and print a table; 1 if something could not be graded."""
    if sys.platform == "win32":
        raise CourseError(
            "course grade needs Linux, or macOS with --no-sandbox, and this is Windows: run it in "
            "WSL or in a container"
        )
    if options.no_sandbox != options.i_trust_these_submissions:
        raise CourseError(
            "--no-sandbox and --i-trust-these-submissions need each other: without a sandbox, what "
            "is handed in can read and delete your files"
        )
    from course_lib.grading.jail.server import early_server

    with early_server(options.no_sandbox) as begun:  # it loads PyTorch while this process does
        from course_lib.grading.grade_command import GradeOptions, grade_and_report

        grading = GradeOptions(
            options.incoming,
            options.assignment,
            options.exercises,
            options.results,
            options.secret_file,
            options.jobs,
            options.cluster,
            options.no_sandbox,
            variants=options.variants,
            groups=options.groups,
            diff=options.diff,
            gradebook=options.gradebook,
        )
        return 0 if grade_and_report(grading, begun) else 1


def add_plot_arguments(parser: ArgumentParser) -> None:
    """Which runs, and where to put their curves."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=path_argument,
        metavar="RUN",
        help="the folder of a run, finished or under way; several are compared",
    )
    parser.add_argument(
        "--out",
        type=path_argument,
        metavar="DIR",
        help="where curves.png and curves.html go (default: the run's folder; of several, here)",
    )
    parser.add_argument("--open", action="store_true", help="open curves.html in the browser")


def run_plot(options: Namespace) -> int:
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
        print(f"{log.name}: {log.summary}")
    print(f"Drawn in {picture} and, with values under the pointer, {page}")
    if options.open:
        import webbrowser

        from course_lib.lab import has_browser

        if not has_browser():
            raise CourseError(f"there is no browser here to open {page} with: copy it to one")
        webbrowser.open(page.resolve().as_uri())
    return 0


def _warn(message: str) -> None:
    from tqdm.auto import tqdm

    tqdm.write(f"course translate: {message}", file=sys.stderr)  # above a progress bar


VERBS = {
    # for learners
    "lab": Verb(
        help="open the lessons in JupyterLab",
        example="course lab 06 --exercise",
        add_arguments=add_lab_arguments,
        run=run_lab,
    ),
    "progress": Verb(
        help="say which exercises are done and which comes next",
        example="course progress",
        add_arguments=add_progress_arguments,
        run=run_progress,
    ),
    "update": Verb(
        help="bring a new release of the course into your copy, where your work stays",
        example="course update",
        add_arguments=add_update_arguments,
        run=run_update,
    ),
    "reset": Verb(
        help="put back an answer or a notebook as the course released it, after a backup",
        example="course reset 06.padding_mask",
        add_arguments=add_reset_arguments,
        run=run_reset,
    ),
    "pages": Verb(
        help="write lessons as HTML pages that need no kernel and no network",
        example="course pages 00 04 --output pages",
        add_arguments=add_pages_arguments,
        run=run_pages,
    ),
    "doctor": Verb(
        help="say what is installed, what is missing and how to fix it",
        example="course doctor",
        add_arguments=add_doctor_arguments,
        run=run_doctor,
    ),
    # for training and translating
    "translate": Verb(
        help="translate sentences, or the lines of a file, with a trained model",
        example='course translate "Die müde Köchin schläft."',
        add_arguments=add_translate_arguments,
        run=run_translate,
    ),
    "translator": Verb(
        help="write a page that translates by itself and shows all that the model computes",
        example="course translator --output site",
        add_arguments=add_translator_arguments,
        run=run_translator,
    ),
    "recipes": Verb(
        help="list recipes and corpora, or all fields of one recipe",
        example="course recipes small",
        add_arguments=add_recipes_arguments,
        run=run_recipes,
    ),
    "train": Verb(
        help="train a translator by a recipe, on the course's data or your own",
        example="course train small --set lr=1e-3 --set model.d_model=64 --out runs/first",
        add_arguments=add_train_arguments,
        run=run_train,
    ),
    "plot": Verb(
        help="draw the curves of one run, or compare several",
        example="course plot runs/small-seed0 runs/small-seed1 --out curves --open",
        add_arguments=add_plot_arguments,
        run=run_plot,
    ),
    # for teachers
    "assign": Verb(
        help="write a variant of the exercises for each group of a class",
        example="course assign --variants 6 --seed 2027-spring --assignment 06_masks",
        add_arguments=add_assign_arguments,
        run=run_assign,
    ),
    "grade": Verb(
        help="grade what students handed in, isolated from everything else",
        example="course grade incoming --assignment 06_masks --results results --jobs 4",
        add_arguments=add_grade_arguments,
        run=run_grade,
    ),
    "report": Verb(
        help="show a graded class at a glance, as a page with plots and as CSV",
        example="course report results --assignment 06_masks --output report",
        add_arguments=grading_verbs.add_report_arguments,
        run=grading_verbs.run_report,
    ),
    "export": Verb(
        help="write the points of a class for Canvas, Moodle, Gradescope, nbgrader or a table",
        example="course export results --format canvas --roster roster.csv --output canvas.csv",
        add_arguments=grading_verbs.add_export_arguments,
        run=grading_verbs.run_export,
    ),
    "similar": Verb(
        help="list submissions that agree in what few others wrote, as a hint for a person",
        example="course similar incoming --assignment 06_masks",
        add_arguments=grading_verbs.add_similar_arguments,
        run=grading_verbs.run_similar,
    ),
}


def _version() -> str:
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "of a folder that is not installed"


def build_parser() -> ArgumentParser:
    """The parser of every verb, each with ``--debug`` and an example in its help."""
    parser = ArgumentParser(
        prog="course",
        description="The Transformer, Question by Question: lessons, exercises, grading.",
        epilog="begin with:\n  course lab          the first lesson, in JupyterLab\n"
        "  course doctor       if anything does not work\n"
        "  course VERB --help  all options of a verb, with an example",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"course {_version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, verb in VERBS.items():
        verb_parser = verbs.add_parser(
            name,
            help=verb.help,
            description=f"{verb.help[0].upper()}{verb.help[1:]}.",
            epilog=f"example:\n  {verb.example}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        verb.add_arguments(verb_parser)
        verb_parser.add_argument(
            "--debug", action="store_true", help="show the traceback of an error"
        )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit status; an error is one line on stderr unless ``--debug``."""
    fit_terminal()
    spin_less()
    options = build_parser().parse_args(arguments)
    try:
        with interruptible_imports():
            status = VERBS[options.verb].run(options)
        sys.stdout.flush()  # so that a full disk is noticed here
        return status
    except BrokenPipeError:  # `course doctor | head -1`
        stop_printing()
        return 141  # what a shell expects of a program whose reader has gone
    except KeyboardInterrupt:
        print(f"\ncourse {options.verb}: stopped by Ctrl-C", file=sys.stderr)
        return 130  # what a shell expects of a program that was interrupted
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        elif isinstance(error, CourseError):
            print(f"course {options.verb}: {error}", file=sys.stderr)
        elif isinstance(error, ImportError) or _while_importing(error):
            print(
                f"course {options.verb}: {_one_line(error)}: see `course doctor`", file=sys.stderr
            )
        elif isinstance(error, OSError) and error.errno == errno.ENOSPC and not error.filename:
            stop_printing()
            message = f"could not write the output ({error.strerror}): is the disk full?"
            print(f"course {options.verb}: {message}", file=sys.stderr)
        elif isinstance(error, OSError) and error.filename is not None:
            message = f"could not use {error.filename} ({error.strerror})"
            hint = "is the path right, and are you allowed to read and write there?"
            print(f"course {options.verb}: {message}: {hint}", file=sys.stderr)
        elif _out_of_memory(error):
            hint = "take a smaller model, shorter batches or less data"
            print(
                f"course {options.verb}: memory is short ({_one_line(error)}): {hint}",
                file=sys.stderr,
            )
        else:
            message = f"{_one_line(error)} (--debug shows where)"
            print(f"course {options.verb}: {message}", file=sys.stderr)
        return 1


def _out_of_memory(error: Exception) -> bool:
    """Whether Python or PyTorch got no memory; PyTorch has no class of its own for a CPU's."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and any(text in str(error) for text in ("can't allocate memory", "out of memory"))
    )


def _while_importing(error: BaseException) -> bool:
    """Whether it comes from a module that does not load: a damaged package can raise anything."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_name == "<module>" for frame, _ in frames)


def _one_line(error: BaseException) -> str:
    """The error's kind and the start of its message."""
    text = textwrap.shorten(str(error), 300, placeholder=" …")
    return text if isinstance(error, ImportError) else f"{type(error).__name__}: {text}"
