"""The ``course`` command: a table of verbs, each a thin function over the library.

What a verb needs is imported when it runs, so that ``course doctor`` works where PyTorch does not.
"""

from __future__ import annotations

import sys
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.errors import CourseError


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
        help="a lesson by the beginning of its name, or a path (default: the first lesson)",
    )
    parser.add_argument("--port", type=int, metavar="N", help="the port to try first")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def run_lab(options: Namespace) -> int:
    """Open a lesson in JupyterLab."""
    from course_lib.lab import open_lab

    open_lab(options.notebook, port=options.port, browser=not options.no_browser)
    return 0


def add_doctor_arguments(parser: ArgumentParser) -> None:
    """There is nothing to choose."""


def run_doctor(options: Namespace) -> int:
    """Print what is installed; 1 if something required is missing."""
    from course_lib.doctor import examine, report

    findings = examine()
    print(report(findings))
    return 0 if all(finding.fine or not finding.required for finding in findings) else 1


def add_train_arguments(parser: ArgumentParser) -> None:
    """What to train, for how long, and where to put it."""
    parser.add_argument("recipe", metavar="RECIPE", help="naive_mt or small")
    parser.add_argument("--corpus", metavar="NAME", help="another corpus than the recipe's own")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--epochs", type=int, metavar="E", help="passes over the training pairs")
    length.add_argument("--max-steps", type=int, metavar="N", help="steps, instead of epochs")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the run's folder (default: runs/RECIPE-seedS)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
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
        help="fp32, or bf16 where the device computes with it (default: bf16 if it does)",
    )
    parser.add_argument("--resume", action="store_true", help="go on where the run was stopped")


def run_train(options: Namespace) -> int:
    """Train by a recipe and report; 130 if Ctrl-C stopped it."""
    from course_lib.training import load_recipe
    from course_lib.training.command import train_and_report

    recipe = load_recipe(options.recipe)
    changes = {"corpus": options.corpus, "epochs": options.epochs}
    finished = train_and_report(
        replace(recipe, **{name: value for name, value in changes.items() if value is not None}),
        folder=options.out or Path("runs") / f"{recipe.name}-seed{options.seed}",
        seed=options.seed,
        device=options.device,
        precision=options.precision,
        max_steps=options.max_steps,
        resume=options.resume,
    )
    return 0 if finished else 130


def add_translate_arguments(parser: ArgumentParser) -> None:
    """What to translate, and with which run."""
    parser.add_argument("text", nargs="+", metavar="TEXT", help="a sentence in quotes")
    parser.add_argument(
        "--run",
        dest="folder",
        type=Path,
        metavar="DIR",
        help="the folder of a run, or a checkpoint (default: the course's own German translator)",
    )


def run_translate(options: Namespace) -> int:
    """Print each sentence's translation on a line, and warn of words that could not be read."""
    from course_lib.training import load_translator

    translator = load_translator(options.folder)
    for text in options.text:
        translation = translator.translate(text)
        for word in translation.unknown:
            guess = translator.source_vocabulary.suggestion(word)
            print(f"course translate: the model does not know {word!r}{guess}", file=sys.stderr)
        if not translation.finished:
            print("course translate: cut off: the model found no end", file=sys.stderr)
        print(translation)
    return 0


VERBS = {
    "train": Verb(
        help="train a translator by a recipe",
        example="course train small --out runs/first",
        add_arguments=add_train_arguments,
        run=run_train,
    ),
    "translate": Verb(
        help="translate sentences",
        example='course translate "Die müde Köchin schläft."',
        add_arguments=add_translate_arguments,
        run=run_translate,
    ),
    "lab": Verb(
        help="open the lessons in JupyterLab",
        example="course lab 06 --port 9000",
        add_arguments=add_lab_arguments,
        run=run_lab,
    ),
    "doctor": Verb(
        help="say what is installed, what is missing and how to mend it",
        example="course doctor",
        add_arguments=add_doctor_arguments,
        run=run_doctor,
    ),
}


def build_parser() -> ArgumentParser:
    """The parser of every verb, each with ``--debug`` and an example in its help."""
    parser = ArgumentParser(prog="course", description="The Transformer, Question by Question.")
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
        verb_parser.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit status; an error is one line on stderr unless ``--debug``."""
    options = build_parser().parse_args(arguments)
    try:
        return VERBS[options.verb].run(options)
    except KeyboardInterrupt:
        return 130  # what a shell expects of a program that was interrupted
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        elif isinstance(error, CourseError):
            print(f"course {options.verb}: {error}", file=sys.stderr)
        else:
            kind = type(error).__name__
            print(f"course {options.verb}: {kind}: {error} (--debug shows where)", file=sys.stderr)
        return 1
